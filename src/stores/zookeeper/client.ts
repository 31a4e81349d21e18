import { StoreError } from "../../errors.ts";
import { LATE, within } from "../../internal/lease/release.ts";
import { reason } from "../../internal/reason.ts";
import { type Clock, elapsed, type Instant, SystemClock } from "../../internal/time/clock.ts";
import type { ZookeeperClient, ZookeeperDone } from "./options.ts";

/** How long a call waits for a connection, in milliseconds: less than the engine waits for the call. */
const CONNECT_MS = 1_500;

/** How long a connection may give no answer, in milliseconds. Then the client connects to the next server. */
const SILENT_MS = 5_000;

/** The states of a client. */
const CONNECTED = 3;
const EXPIRED = -122;

/** The states of a client's connection manager: without a connection, closed by its user, closed for good, refused. */
const DISCONNECTED = 0;
const CLOSING = -1;
const CLOSED = -2;
const AUTH_FAILED_STATE = -4;

/** Codes of errors. */
const CONNECTION_LOSS = -4;
const NO_NODE = -101;
const NO_AUTH = -102;
const BAD_VERSION = -103;
const NODE_EXISTS = -110;
const INVALID_ACL = -114;
const AUTH_FAILED = -115;

/** The connection of a client. */
interface ClientSocket {
  destroy(error: Error): void;
}

/** The private parts of node-zookeeper-client that are used, where there is no public way. */
interface ClientInside {
  readonly state: number;
  readonly socket?: ClientSocket;
  /** The beginning of an answer that has not come in whole. */
  pendingBuffer: unknown;
  readonly sessionId: Uint8Array;
  readonly sessionPassword: Uint8Array;
  on(event: "state", listener: (state: number) => void): unknown;
  queue(request: SyncRequest, done: (error: unknown) => void): void;
}

/** A request that the client has no method for. */
class SyncRequest {
  /** The client takes the answer for one to the removal of a node, from which it reads nothing; it sets the number. */
  readonly header = { type: 2, xid: 0 };
  readonly payload = null;

  /** Returns its bytes: their number, the number of the request, the code of `sync`, and the path. */
  toBuffer(): Uint8Array {
    const bytes = new DataView(new ArrayBuffer(17));
    [13, this.header.xid, 9, 1].forEach((number, index) => bytes.setInt32(4 * index, number));
    bytes.setUint8(16, "/".charCodeAt(0));
    return new Uint8Array(bytes.buffer);
  }
}

/** A client that has a limit for each call, and goes on after its session has expired. */
export class ZookeeperConnection {
  readonly #client: ZookeeperClient;
  readonly #clock: Clock = new SystemClock();
  /** Called when the state of the client changes. */
  readonly #changed = new Set<() => void>();
  readonly #closed = new Set<() => void>();
  #hasExpired = false;
  /** A connection that was being made when a call gave up, and since when. */
  #slow: { readonly socket: ClientSocket | undefined; readonly since: Instant } | undefined;

  constructor(client: ZookeeperClient) {
    this.#client = client;
    const inside = insideOf(client);
    inside?.on("state", (state) => {
      // The client takes what the next connection says for the rest of an answer that was cut.
      if (state === DISCONNECTED) inside.pendingBuffer = null;
    });
    client.on("state", (state) => {
      const code = state.getCode();
      // Another store on this client may have connected it again.
      if (code === CONNECTED || code === EXPIRED) this.#hasExpired = code === EXPIRED;
      // Only then does the client know whether it is closed.
      queueMicrotask(() => this.#noteChange());
    });
  }

  /** Whether the client was closed by its user, or its authentication was refused. */
  get closed(): boolean {
    const state = this.#inside?.state;
    return state === CLOSING || state === AUTH_FAILED_STATE || state === CLOSED && !this.#hasExpired;
  }

  /** Calls a function when the client is closed. */
  onClosed(run: () => void): () => void {
    this.#closed.add(run);
    return () => this.#closed.delete(run);
  }

  /** Calls a function each time the client is connected or disconnected. */
  onChange(run: () => void): () => void {
    this.#changed.add(run);
    return () => this.#changed.delete(run);
  }

  /** Returns a text in a `Buffer` of the class that the client uses. */
  bufferOf(text: string): Uint8Array {
    const { constructor } = this.#client.getSessionId() as { constructor: unknown };
    return (constructor as { from(bytes: ArrayBufferLike): Uint8Array }).from(new TextEncoder().encode(text).buffer);
  }

  /**
   * Makes the server catch up with the leader, so that the next read sees all earlier writes. Sent just before a read,
   * which need not wait for the answer.
   */
  async sync(): Promise<void> {
    await this.call<[]>((client, done) => {
      const { queue } = insideOf(client) ?? {};
      if (queue === undefined) done(undefined);
      else queue.call(insideOf(client), new SyncRequest(), (error) => done(error));
    });
  }

  /** Sends a request, once the client is connected, and resolves to the answer. */
  async call<Results extends readonly unknown[]>(
    send: (client: ZookeeperClient, done: ZookeeperDone<Results>) => void,
  ): Promise<Results> {
    if (!this.#isConnected) await this.#connected();
    const { socket } = this.#inside ?? {};
    const answer = new Promise<Results>((resolve, reject) => {
      send(this.#client, (error, ...results) => error ? reject(this.#failureOf(error)) : resolve(results));
    });
    try {
      return await within(SILENT_MS, answer, this.#clock);
    } catch (error) {
      throw error === LATE ? silentError(socket) : error;
    }
  }

  get #inside(): ClientInside | undefined {
    return insideOf(this.#client);
  }

  get #isConnected(): boolean {
    return this.#client.getState().getCode() === CONNECTED && !this.closed;
  }

  /** Resolves when the client is connected. A request is not sent before: the client would queue it without a limit. */
  async #connected(): Promise<void> {
    let cancel = () => {};
    const connected = new Promise<void>((resolve, reject) => {
      const look = () => {
        if (this.closed) reject(closedError());
        else if (this.#isConnected) resolve();
        else this.#reopen();
      };
      cancel = this.onChange(look);
      look();
    });
    try {
      await within(CONNECT_MS, connected, this.#clock);
    } catch (error) {
      throw error === LATE ? this.#unconnectedError() : error;
    } finally {
      cancel();
    }
  }

  /** Ends a connection that takes too long to make, as when the server is frozen. Returns the error of the call. */
  #unconnectedError(): StoreError {
    const { socket } = this.#inside ?? {};
    const now = this.#clock.now();
    if (this.#slow === undefined || this.#slow.socket !== socket) this.#slow = { socket, since: now };
    else if (elapsed(this.#slow.since, now) > SILENT_MS) silentError(socket);
    return new StoreError(`The client has not been connected to ZooKeeper for ${CONNECT_MS} ms. Was connect() called?`);
  }

  /** Gives a client whose session has expired a new one: otherwise it would stay closed for good. */
  #reopen(): void {
    const inside = this.#inside;
    if (!this.#hasExpired || inside?.state !== CLOSED) return;
    this.#hasExpired = false;
    inside.sessionId.fill(0);
    inside.sessionPassword.fill(0);
    this.#client.connect();
  }

  #noteChange(): void {
    for (const run of [...this.#changed, ...this.closed ? this.#closed : []]) run();
  }

  #failureOf(error: unknown): unknown {
    return this.closed && codeOf(error) === CONNECTION_LOSS ? closedError() : failureOf(error);
  }
}

function insideOf(client: ZookeeperClient): ClientInside | undefined {
  return (client as { readonly connectionManager?: ClientInside }).connectionManager;
}

/** Returns whether an error says that a node is missing. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === NO_NODE;
}

/** Returns whether a write was refused because another one came first. */
export function isRefused(error: unknown): boolean {
  return [NO_NODE, BAD_VERSION, NODE_EXISTS].includes(codeOf(error));
}

function codeOf(error: unknown): number {
  return (Object(error) as { readonly code?: number }).code ?? 0;
}

/** Ends a connection without answers, which the client would keep: it has no limit. Returns the error of the call. */
function silentError(socket: ClientSocket | undefined): Error {
  const error = new Error(`no answer from ZooKeeper within ${SILENT_MS} ms`);
  // Without an error the client forgets to stop a timer, which ends the next connection.
  socket?.destroy(error);
  return error;
}

function closedError(): StoreError {
  return new StoreError("The client of ZooKeeper is closed", { permanent: true });
}

/** Returns the error that a call rejects with: a `StoreError` if nothing was done and no retry helps. */
function failureOf(cause: unknown): unknown {
  const code = codeOf(cause);
  const refused = (message: string) => new StoreError(message, { permanent: true, cause });
  if (code === NO_AUTH) {
    const needed = "It needs READ, WRITE, CREATE, DELETE and ADMIN (cdrwa) on the node of the locks and those below it";
    return refused(`ZooKeeper does not let the client do that (NO_AUTH). ${needed}`);
  }
  if (code === AUTH_FAILED) return refused(`ZooKeeper does not know this authentication: ${reason(cause)}`);
  if (code === INVALID_ACL) return refused(`ZooKeeper refuses the access control list: ${reason(cause)}`);
  return cause;
}
