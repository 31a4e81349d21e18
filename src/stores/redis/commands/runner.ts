import { reason } from "../../../internal/reason.ts";
import { StoreError } from "../../../errors.ts";
import type { RedisPort } from "../clients/port.ts";
import { rightsFor } from "../refusals/rights.ts";
import type { Script } from "./script.ts";
import { explain, isLoginFailure, isSubscribed } from "../refusals/server_error.ts";

/** Runs scripts on the server of a client. */
export class Runner {
  readonly #port: RedisPort;
  readonly #prefix: string;

  /** Runs them over a client, for locks whose keys begin with `prefix`. */
  constructor(port: RedisPort, prefix: string) {
    this.#port = port;
    this.#prefix = prefix;
  }

  /** Runs a script by its SHA-1; the first time on a server by its text. */
  run<T>(script: Script, keys: string[], argv: string[], decode: (reply: unknown) => T): Promise<T> {
    const port = this.#port;
    const { cuts, error } = port.connection;
    const fail = (error: unknown): never => {
      throw this.failure(error, script, keys, cuts);
    };
    const read = (reply: unknown): T => {
      if (error !== undefined) port.connection.answered();
      return decode(reply);
    };
    return port.evalsha(script.sha, keys, argv).then(read, (error) => {
      if (!isUnknownScript(error)) return fail(error);
      return port.eval(script.source, keys, argv).then(read, fail);
    });
  }

  /**
   * Returns what a failed call is rejected with: a {@linkcode StoreError} when the server has answered that it did
   * nothing, or when no answer can come; else an error that says why the server cannot be reached.
   *
   * @param error what the client rejected with
   * @param script the script that was called
   * @param keys the keys that it was called with
   * @param cuts how often the connection had been cut before
   */
  failure(error: unknown, script: Script, keys: readonly string[], cuts: number): unknown {
    const { connection, keyPrefix, state, user } = this.#port;
    if (error instanceof StoreError) return error;
    if (this.#port.isReply(error) || isSubscribed(error)) {
      // A command that was sent twice, over two connections, may have been executed the first time; not without login.
      if (cuts !== connection.cuts && !isLoginFailure(error)) return error;
      const { message, permanent } = explain(
        error.message,
        rightsFor(user, script.source, keys, this.#prefix, keyPrefix),
      );
      return new StoreError(message, { cause: error, permanent });
    }
    const cause = connection.error;
    const words = reason(error);
    const message = cause === undefined || words.includes(cause.message) ? words : `${cause.message} (${words})`;
    if (state === "closed") return new StoreError(message, { cause: cause ?? error, permanent: true });
    return message === words ? error : new Error(message, { cause });
  }
}

/** Returns whether the server has said that it does not know a script by its SHA-1. */
export function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}
