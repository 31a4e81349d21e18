import { StoreError } from "../../contract/errors.ts";
import { type Clock, type Instant, monotonicMs, SystemClock } from "../../time/clock.ts";
import { answerTo, CONNECT_MS, SILENT_MS, whenConnected } from "./calls.ts";
import { type ClientInside, type ClientSocket, mend } from "./client_inside.ts";
import { codeOf, CONNECTION_LOSS, failureOf } from "./failures.ts";
import type { ZookeeperClient, ZookeeperDone, ZookeeperRequests } from "./options.ts";

/** The states of a client. */
const CONNECTED = 3;
const EXPIRED = -122;

/** The states of a client's connection manager: closed by its user, closed for good, refused. */
const CLOSING = -1;
const CLOSED = -2;
const AUTH_FAILED_STATE = -4;

/** A request that the client has no method for. */
class SyncRequest {
  /** Makes the client take the answer for one to a removal, from which it reads nothing. The client sets the number. */
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

/** The part of a connection that the store uses. */
export type NodeConnection = Pick<ZookeeperConnection, "closed" | "bufferOf" | "sync" | "call"> & {
  /** Calls a function when it is closed for good. Servers given as a text never are. */
  onClosed?(run: () => void): () => void;
  /** Keeps the process alive until the returned function is called. A user's client always does. */
  use?(): () => void;
};

/** The connection of each client, for all its stores: node-zookeeper-client warns of more than ten listeners. */
const connections = new WeakMap<ZookeeperClient, ZookeeperConnection>();

export function connectionOf(client: ZookeeperClient): ZookeeperConnection {
  const connection = connections.get(client) ?? new ZookeeperConnection(client);
  connections.set(client, connection);
  return connection;
}

/** A client with a limit for each call, which continues after its session has expired. */
export class ZookeeperConnection {
  readonly #client: ZookeeperClient;
  readonly #clock: Clock;
  readonly #changed = new Set<() => void>();
  readonly #closed = new Set<() => void>();
  #hasExpired = false;
  /** A connection that was being made when a call gave up, and its start. */
  #slow: { readonly socket: ClientSocket | undefined; readonly since: Instant } | undefined;

  constructor(client: ZookeeperClient, clock: Clock = new SystemClock()) {
    this.#client = client;
    this.#clock = clock;
    const inside = insideOf(client);
    if (inside !== undefined) mend(inside);
    client.on("state", (state) => {
      const code = state.getCode();
      // Another store on this client may have connected it again.
      if (code === CONNECTED || code === EXPIRED) this.#hasExpired = code === EXPIRED;
      // Only then does the client know whether it is closed.
      queueMicrotask(() => {
        for (const run of [...this.#changed, ...this.closed ? this.#closed : []]) run();
      });
    });
  }

  /** Whether the client was closed by its user, or its authentication was refused. */
  get closed(): boolean {
    const state = this.#inside?.state;
    return state === CLOSING || state === AUTH_FAILED_STATE || state === CLOSED && !this.#hasExpired;
  }

  onClosed(run: () => void): () => void {
    this.#closed.add(run);
    return () => this.#closed.delete(run);
  }

  /** Returns a text in a `Buffer` of the class that the client uses. */
  bufferOf(text: string): Uint8Array {
    const { constructor } = this.#client.getSessionId() as { constructor: unknown };
    return (constructor as { from(bytes: ArrayBufferLike): Uint8Array }).from(new TextEncoder().encode(text).buffer);
  }

  /** Makes the server catch up with the leader. It is sent just before a read, which need not wait for the answer. */
  async sync(): Promise<void> {
    await this.call<[]>((_, done) => {
      const { queue } = this.#inside ?? {};
      if (queue === undefined) done(undefined);
      else queue.call(this.#inside!, new SyncRequest(), (error) => done(error));
    });
  }

  /** Sends a request, once the client is connected, and resolves to the answer. Rejects when the signal aborts. */
  async call<Results extends readonly unknown[]>(
    send: (client: ZookeeperRequests, done: ZookeeperDone<Results>) => void,
    signal?: AbortSignal,
  ): Promise<Results> {
    if (!this.#isConnected) await this.#connected(signal);
    const { socket } = this.#inside ?? {};
    const request = (done: ZookeeperDone<Results>) => send(this.#client, done);
    return await answerTo(request, (error) => this.#failureOf(error), {
      clock: this.#clock,
      signal,
      late: () => silentError(socket),
    });
  }

  get #inside(): ClientInside | undefined {
    return insideOf(this.#client);
  }

  get #isConnected(): boolean {
    return this.#client.getState().getCode() === CONNECTED && !this.closed;
  }

  /** Resolves when the client is connected. No request is sent earlier: the client would queue it without a limit. */
  #connected(signal?: AbortSignal): Promise<void> {
    const look = () => {
      if (this.closed) throw closedError();
      if (this.#isConnected) return true;
      this.#reopen();
      return false;
    };
    const late = () => this.#unconnectedError();
    return whenConnected(look, this.#changed, { clock: this.#clock, signal, late });
  }

  /** Ends a connection that takes too long to make: the server may be frozen. Returns the error of the call. */
  #unconnectedError(): StoreError {
    const { socket } = this.#inside ?? {};
    const now = this.#clock.now();
    if (this.#slow === undefined || this.#slow.socket !== socket) this.#slow = { socket, since: now };
    else if (monotonicMs(this.#slow.since, now) > SILENT_MS) silentError(socket);
    return new StoreError(`The client has not been connected to ZooKeeper for ${CONNECT_MS} ms. Was connect() called?`);
  }

  /** Replaces the session of a client whose session has expired: otherwise the client would stay closed for good. */
  #reopen(): void {
    const inside = this.#inside;
    if (!this.#hasExpired || inside?.state !== CLOSED) return;
    this.#hasExpired = false;
    inside.sessionId.fill(0);
    inside.sessionPassword.fill(0);
    this.#client.connect();
  }

  #failureOf(error: unknown): unknown {
    return this.closed && codeOf(error) === CONNECTION_LOSS ? closedError() : failureOf(error);
  }
}

function insideOf(client: ZookeeperClient): ClientInside | undefined {
  return (client as { readonly connectionManager?: ClientInside }).connectionManager;
}

/** Ends a silent connection, which the client would keep for ever. Returns the error of the call. */
function silentError(socket: ClientSocket | undefined): Error {
  const error = new Error(`no answer from ZooKeeper within ${SILENT_MS} ms`);
  // Without an error the client forgets to stop a timer, which ends the next connection.
  socket?.destroy(error);
  return error;
}

function closedError(): StoreError {
  return new StoreError("The client of ZooKeeper is closed", { permanent: true });
}
