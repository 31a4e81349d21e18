import type { Connection } from "./connection.ts";

/** The state of a client; `down` is between two tries to connect, `closed` for good. */
export type ClientState = "connecting" | "ready" | "down" | "closed";

/** Runs a script, by its SHA-1 or its text, and WAIT over one connection. Rejects with the first error. */
export type EvalAndWait = (
  script: { readonly sha: string } | { readonly source: string },
  keys: readonly string[],
  args: readonly string[],
  min: number,
  timeout: number,
) => Promise<[reply: unknown, replicas: unknown]>;

/** The part of a client that the Redis store needs. Scripts, queue and wake-ups use nothing else. */
export interface RedisPort {
  /** How often its connection was cut, and why it is down. */
  readonly connection: Connection;
  readonly state: ClientState;
  /** Whether PUBLISH counts every subscriber, as in no Cluster: only then a waiter that hears nothing is dead. */
  readonly countsSubscribers: boolean;
  /** Whether it is a client of a Cluster, which follows slots by itself: `MOVED` passes. */
  readonly followsSlots?: boolean;
  /** The prefix that the client adds to every key. */
  readonly keyPrefix: string;
  /** The name of its user. */
  readonly user: string;
  /** The address of the server, if it is one server and known. */
  readonly address: string | undefined;
  /** The fault in its options, in one sentence: options that hide a failure for good. */
  readonly optionsWarning: string | undefined;
  /** Whether its transport may execute a command and repeat it unseen. */
  readonly repeats?: boolean | undefined;
  /** The longest time between two attempts of a waiter, in milliseconds, where messages do not suffice. */
  readonly pollMs?: number | undefined;
  /** Whether a second connection is costly: then there is one only while handles wait, for the first channel alone. */
  readonly waitersOnly?: boolean | undefined;
  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Only for the option `replicas`. */
  readonly evalAndWait?: EvalAndWait;
  /** Returns whether an error is a reply of the server, whose words are its message. */
  isReply(error: unknown): error is Error;
  /** Returns the servers whose keys can be searched. */
  masters(): readonly SearchedMaster[];
  /** Returns the possible second connections, the best first. A client that cannot subscribe has no such method. */
  subscribers?(): readonly Subscribe[];
}

/** A server whose keys can be searched. */
export interface SearchedMaster {
  /** Its address in a Cluster; empty without one. */
  readonly address: string;
  /** Iterates over the keys of the server. Resolves to the reply to SCAN. */
  scan(cursor: string, pattern: string, count: number): Promise<unknown>;
}

/** Makes a second connection and subscribes to channels. The listener is not called before this returns. */
export type Subscribe = (channels: readonly string[], listener: MessageListener) => SecondConnection;

export interface MessageListener {
  opened(): void;
  message(channel: string, message: string): void;
  /** Called when the server has refused the subscription. */
  refused(reply: Error): void;
  /** Called when the connection has failed or ended; `error` has the reason, if known. */
  ended(error?: unknown): void;
}

/** A second connection. It does not keep the process alive, and never reconnects by itself. */
export interface SecondConnection {
  /** Asks the server for a sign of life. Rejects when none comes in time. */
  probe(): Promise<unknown>;
  /** Closes the connection for good. */
  close(): void;
}
