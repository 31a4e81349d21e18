import type { HandoffName } from "../../simulation/handoff/scenario.ts";
import type { ClientName, Options } from "./options.ts";
import type { Release } from "../../verification/history/history.ts";

/** What the clients of a process connect to. */
export type Target =
  | RedisTarget
  | SqliteTarget
  | { readonly kind: "memcached" | "mysql"; readonly port: number }
  /** Or a pooler in front of PostgreSQL; then the server itself notifies, at the port `listen`. */
  | { readonly kind: "postgres"; readonly port: number; readonly listen: number }
  /** The first member of etcd is asked first. */
  | { readonly kind: "etcd" | "zookeeper"; readonly ports: readonly number[] };

/** A file. */
export interface SqliteTarget {
  readonly kind: "sqlite";
  readonly path: string;
}

/** Redis servers. */
export type RedisTarget =
  | { readonly kind: "single"; readonly port: number }
  | { readonly kind: "redlock"; readonly ports: readonly number[] }
  | { readonly kind: "sentinel"; readonly sentinels: readonly Address[]; readonly name: string; readonly nat: Nat }
  | { readonly kind: "cluster"; readonly nodes: readonly Address[]; readonly nat: Nat };

/** Where a server is. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where servers are to be reached instead of where they say that they are, as `host:port`. */
export type Nat = Readonly<Record<string, Address>>;

/** The lock that many store objects want at the same time. */
export const THRONGED = "thronged";

/** Returns how many store objects of one process want a lock. */
export function storesOf(lock: string, { stores, workers }: Pick<Options, "stores" | "workers">): number {
  return lock === THRONGED ? Math.ceil(stores / workers) : 1;
}

/** What a worker process does; durations are in milliseconds. */
export interface Work<T extends Target = Target> {
  readonly target: T;
  /** The same servers, reached without what happens to the way to them. */
  readonly direct: T;
  /** What it reaches Redis with. */
  readonly client: ClientName;
  /** The port of the server that keeps what the locks protect. */
  readonly register: number;
  /** Whether the register checks fences. */
  readonly fences: boolean;
  readonly seed: number;
  /** The locks, the busiest first. */
  readonly locks: readonly string[];
  /** A lock that hardly anybody else wants, and another one. */
  readonly own: string;
  readonly kept: string;
  /** A lock that many parts of this process and of another one want at the same time. */
  readonly crowded: string;
  /** A lock that only visitors want: store objects that make one call each, which waits for less than the lease. */
  readonly brief: string;
  /** How many store objects of this process want the lock {@linkcode THRONGED} at the same time. */
  readonly stores: number;
  readonly lease: number;
  /** The longest time for which it may stand still without an effect. */
  readonly stall: number;
  /** How long its commands wait for their servers; for as long as it takes, if `null`. */
  readonly commandTimeout: number | null;
  /** How the process hands locks on from one of its handles to the next. */
  readonly handoff: HandoffName;
}

/** What was still kept of an acquire that was over. */
export interface Remains {
  readonly lock: string;
  /** How it was over: it was released, or handed on to another handle, or the outcome of the refusal. */
  readonly end: string;
  /** Whether one of its attempts had failed, so that it may have been executed late. */
  readonly unanswered: boolean;
  /** When it began. */
  readonly from: number;
  /** When it was over, for its caller. */
  readonly since: number;
  /** Whether more servers than may be behind had something at once; `undefined` when too few of them answered. */
  readonly atOnce: boolean | undefined;
  /** When it was looked at once. */
  readonly at: number;
  /** Whether more was ever seen than what servers keep of waiters. */
  readonly held: boolean;
  /** When something was seen for the last time; the beginning when nothing was. */
  readonly until: number;
  /** Whether nothing was seen in the end, by those that answered. */
  readonly gone: boolean;
}

/** What a worker process writes, one JSON object per line. Times are those of `now()`. */
export type Line =
  | { readonly type: "ready" }
  /** The time, when it was asked for it. */
  | { readonly type: "time"; readonly at: number }
  | {
    readonly type: "granted";
    readonly lock: string;
    readonly owner: string;
    readonly fence: string;
    readonly start: number;
    readonly end: number;
    readonly believed: number;
    /** Whether it had to wait for another holder. */
    readonly waited: boolean;
    /** Whether it was handed on by another handle of the process. */
    readonly handedOn: boolean;
  }
  | {
    readonly type: "section";
    readonly owner: string;
    readonly believed: number;
    readonly acted: number;
    /** Whether a write was made. */
    readonly written: boolean;
    /** How long a trip to the register took. */
    readonly trip: number | undefined;
  }
  /** It believed that it held a lock so many milliseconds after the end of the lease. */
  | {
    readonly type: "overdue";
    readonly lock: string;
    readonly owner: string;
    readonly at: number;
    readonly ms: number;
  }
  /** It was granted a lock with a fence that no grant of the store has. */
  | { readonly type: "unfounded"; readonly lock: string; readonly owner: string; readonly at: number }
  | ({ readonly type: "looked" } & Remains)
  /** It stood still. */
  | { readonly type: "stalled"; readonly start: number; readonly end: number }
  | ({ readonly type: "release" } & Release)
  /** An acquire that was not granted: it was busy, or the code of the error. */
  | {
    readonly type: "refused";
    readonly lock: string;
    readonly outcome: string;
    readonly start: number;
    readonly end: number;
  }
  /** It closed its client while it held the lock, as a process that is killed. */
  | { readonly type: "died"; readonly owner: string; readonly at: number }
  /** A guarded transaction has ended. */
  | { readonly type: "guarded"; readonly committed: boolean }
  /** Something failed that nobody handles. */
  | { readonly type: "unhandled"; readonly message: string }
  /** It had something open when it had closed its store. */
  | { readonly type: "unclosed"; readonly what: string }
  /** What it waits for before it ends. */
  | { readonly type: "ending"; readonly at: string }
  /** Something kept it alive when all was over. */
  | { readonly type: "lingering" }
  /** It was asked to finish and has; with the calls that have not returned. */
  | { readonly type: "finished"; readonly pending: readonly { readonly lock: string; readonly start: number }[] };
