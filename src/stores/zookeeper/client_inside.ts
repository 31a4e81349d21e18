import { partsOf, SET_WATCHES } from "./sent_watches.ts";

/** The fields with the paths of watches, in the request that sets watches on a new connection. */
const WATCHED = ["dataWatches", "existWatches", "childWatches"] as const;

/** The limit of the numbers of requests: this number does not fit into 32 bits with a sign. */
const XIDS = 2 ** 31;

/** The state of the client without a connection. */
const DISCONNECTED = 0;

export interface ClientSocket {
  destroy(error: Error): void;
}

/** The used private parts of node-zookeeper-client, where there is no public way. */
export interface ClientInside {
  readonly state: number;
  readonly socket?: ClientSocket;
  pendingBuffer: unknown;
  readonly sessionId: Uint8Array;
  readonly sessionPassword: Uint8Array;
  xid: number;
  on(event: "state", listener: (state: number) => void): unknown;
  queue(request: ClientRequest, done?: (error: unknown) => void): void;
}

interface ClientRequest {
  readonly header: { readonly type: number } | null;
  readonly payload: object | null;
}

/** The request that sets a client's watches on a new connection. */
interface WatchesRequest extends ClientRequest {
  readonly payload: Readonly<Record<typeof WATCHED[number], readonly string[]>>;
}

/** Repairs four faults of the client: it would never reconnect, or throw where nobody catches the error. */
export function mend(inside: ClientInside): void {
  inside.on("state", (state) => {
    // The client takes what the next connection says for the rest of an answer that was cut.
    if (state === DISCONNECTED) inside.pendingBuffer = null;
  });
  const { queue } = inside;
  inside.queue = (request, done) => {
    const requests = request.header?.type === SET_WATCHES ? divided(request as WatchesRequest) : [request];
    for (const each of requests) queue.call(inside, each, done);
  };
  // A server's first words have the number 0. If the client is closed before them, they must not answer its close.
  let xid = inside.xid || 1;
  Object.defineProperty(inside, "xid", { get: () => xid, set: (next: number) => xid = next % XIDS || 1 });
}

/** Divides a request that sets watches into requests that a server takes. */
function divided(request: WatchesRequest): WatchesRequest[] {
  const { header, payload } = request;
  const none = { dataWatches: [], existWatches: [], childWatches: [] };
  return WATCHED.flatMap((field) =>
    partsOf(payload[field]).map((paths) =>
      changed(request, { header: changed(header, {}), payload: changed(payload, { ...none, [field]: paths }) })
    )
  );
}

/** Returns a copy of an object of the client, with other fields. */
function changed<T extends object | null>(object: T, fields: object): T {
  return Object.assign(Object.create(Object.getPrototypeOf(object)), object, fields);
}
