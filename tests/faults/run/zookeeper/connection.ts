import { ZookeeperBackend } from "../../../../src/stores/zookeeper/store.ts";
import { inTime } from "../../../support/in_time.ts";
import { closeClient, connected } from "../../../support/zookeeper_server.ts";
import type { Connection } from "../engine_access.ts";

/** How long a session lasts without a sign of its client, in milliseconds: usually, and where it is to expire. */
const SESSION_MS = 10_000;
export const SHORT_SESSION_MS = 1_500;

/** How long a client that is closed may take to connect before, in milliseconds: longer than any fault lasts. */
const CONNECTS_MS = 120_000;

/** A text that each request has which changes a document. */
export const REQUEST = '"counter":';

/** A connection with a session. */
export interface SessionConnection extends Connection<number | undefined> {
  /** The number of its session; 0 if it has none. */
  readonly session: bigint;
  /** Closes it, also when it is not connected. */
  close(): Promise<void>;
}

/** Connects to servers, whose answers to reads may take so many milliseconds, or as long as the store likes. */
export function connectTo(
  ports: readonly number[],
  { sessionTimeout = SESSION_MS, timeout }: { readonly sessionTimeout?: number; readonly timeout?: number } = {},
): SessionConnection {
  const client = connected(ports.map((port) => `127.0.0.1:${port}`).join(), { sessionTimeout });
  const backend = new ZookeeperBackend(client, "/holdfast");
  if (timeout !== undefined) {
    const read = backend.read.bind(backend);
    backend.read = (name) => inTime(read(name), timeout, "an answer of ZooKeeper");
  }
  return {
    backend,
    get session() {
      return BigInt(`0x${client.getSessionId().toHex()}`);
    },
    // It may be connecting for ever. One that is closed too soon throws where nobody can catch it.
    close: () => closeClient(client, CONNECTS_MS).catch(() => {}),
  };
}
