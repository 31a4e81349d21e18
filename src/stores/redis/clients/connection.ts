import { isDenied } from "../../../internal/failure.ts";
import { reason } from "../../../internal/reason.ts";

export interface ConnectionListener {
  ready(): void;
  /** Called when the whole client was cut off, not when a Cluster has lost a node. */
  down(): void;
  /** Called when the client was closed for good. */
  closed(): void;
}

/** The connection of a client: how often it was cut, and why it is down. The file of the client reports to it. */
export class Connection {
  readonly #listeners = new Set<Partial<ConnectionListener>>();
  #cuts = 0;
  #error: Error | undefined;
  #detail: Error | undefined;
  /** Called when the runtime does not permit the connection. */
  readonly #denials = new Set<(error: Error) => void>();

  /** How often a connection of the client was cut. Some clients silently send again the commands without an answer. */
  get cuts(): number {
    return this.#cuts;
  }

  /** Why the server cannot be reached: the last error since the connection was up; `undefined` while it is up. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Calls a listener from now on. Returns a function that ends this. */
  listen(listener: Partial<ConnectionListener>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Drops the last error: the server has answered. A Cluster client has no event for a node that is back. */
  answered(): void {
    this.#error = this.#detail = undefined;
  }

  cut(): void {
    this.#cuts++;
  }

  /** Records why the server cannot be reached. */
  failed(error: Error): void {
    this.#error = readable(error, this.#detail);
    if (isDenied(this.#error)) { for (const reject of this.#denials) reject(this.#error); }
  }

  /** Settles like an answer, or rejects when the runtime permits no connection: the client would retry for ever. */
  unlessDenied<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#denials.add(reject);
      answer.then(resolve, reject).finally(() => this.#denials.delete(reject));
      if (isDenied(this.#error)) reject(this.#error);
    });
  }

  /** Records the error of a single Sentinel or Cluster node; the client itself reports only that all have failed. */
  failedAt(detail: Error): void {
    this.#detail = detail;
  }

  ready(): void {
    this.answered();
    for (const { ready } of this.#listeners) ready?.();
  }

  /** Reports that the client was cut off; it has failed unless it was closed by its user. */
  down(isFault = true): void {
    if (isFault) this.#error ??= new Error("the server has closed the connection");
    for (const { down } of this.#listeners) down?.();
  }

  closed(): void {
    for (const { closed } of this.#listeners) closed?.();
  }
}

/** The errors that only say that all Sentinels, or all nodes of a Cluster, have failed. */
const ALL_FAILED =
  /^(?:All sentinels are unreachable|Failed to refresh slots cache|All the root nodes are unavailable)/;

/** Returns the error, or an error whose message adds the known details. */
function readable(error: Error, detail: Error | undefined): Error {
  const { errors, code } = error as { errors?: unknown; code?: unknown };
  // On Node, for a host with several addresses: one error for each address, and no message.
  if (error.message === "" && Array.isArray(errors)) {
    return new Error(errors.map(reason).join("; "), { cause: error });
  }
  if (detail !== undefined && ALL_FAILED.test(error.message)) {
    return new Error(`${detail.message} (${error.message})`, { cause: detail });
  }
  // Not all runtimes have the code in the message, and the errors of TLS have not.
  if (typeof code !== "string" || error.message.includes(code)) return error;
  return new Error(`${error.message} (${code})`, { cause: error });
}
