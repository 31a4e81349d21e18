import type { Connection } from "./connection.ts";

/** What a client does now; `down` is between two tries to connect, `closed` for good. */
export type ClientState = "connecting" | "ready" | "down" | "closed";

/** The script that WAIT follows: by its SHA-1 or, where the server does not know that, by its text. */
export type ScriptCall = { readonly sha: string } | { readonly source: string };

/** What the Redis store needs of a client. Scripts, queue and wake-ups know nothing else of it. */
export interface RedisPort {
  /** How often its connection was cut, and why it is down. */
  readonly connection: Connection;
  readonly state: ClientState;
  /** Whether PUBLISH counts every subscriber: only then a waiter that it did not reach is dead. In a Cluster it does not. */
  readonly countsSubscribers: boolean;
  /** What the client puts before every key. */
  readonly keyPrefix: string;
  /** The name of the user that it is. */
  readonly user: string;
  /** Where the server is, if that is one server and known. */
  readonly address: string | undefined;
  /** What is wrong with its options, in one sentence: those that hide a failure for good. */
  readonly optionsWarning: string | undefined;
  /** The longest time between two attempts of a waiter, in milliseconds, where messages do not suffice. */
  readonly pollMs?: number | undefined;
  /** Whether a second connection costs so much that it is there only while somebody waits, for the first channel alone. */
  readonly waitersOnly?: boolean | undefined;
  /** Runs a script by its SHA-1. */
  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /** Runs a script by its text. */
  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /**
   * Runs a script and then WAIT, over one connection. Resolves to both replies, or rejects with the first error. Only the
   * option `replicas` needs it.
   */
  evalAndWait?(
    script: ScriptCall,
    keys: readonly string[],
    args: readonly string[],
    min: number,
    timeout: number,
  ): Promise<[reply: unknown, replicas: unknown]>;
  /** Returns whether an error is a reply of the server; its message is what the server has said. */
  isReply(error: unknown): error is Error;
  /** Returns the servers whose keys can be searched. */
  masters(): readonly SearchedMaster[];
  /** Returns the second connections that can be made, the best one first. A client that cannot subscribe has no such method. */
  subscribers?(): readonly Subscribe[];
}

/** A server whose keys can be searched. */
export interface SearchedMaster {
  /** Its address in a Cluster; empty without one. */
  readonly address: string;
  /** Goes through the keys of the server, as SCAN does. */
  scan(cursor: string, pattern: string, count: number): Promise<[cursor: string, keys: string[]]>;
}

/** Makes a second connection and subscribes to channels. The listener is not called before this returns. */
export type Subscribe = (channels: readonly string[], listener: MessageListener) => SecondConnection;

/** The callbacks of a second connection. */
export interface MessageListener {
  /** Called when messages begin to arrive. */
  opened(): void;
  /** Called with each message. */
  message(channel: string, message: string): void;
  /** Called when the server has refused the subscription. */
  refused(reply: Error): void;
  /** Called when the connection has failed or ended; `error` says why, if that is known. */
  ended(error?: unknown): void;
}

/** A second connection. It does not keep the process alive, and never connects again by itself. */
export interface SecondConnection {
  /** Asks the server for a sign of life. Rejects when none comes in time. */
  probe(): Promise<unknown>;
  /** Closes it, for good. */
  close(): void;
}
