import type { Release } from "../../history/history.ts";

/** What the clients of a process connect to. */
export type Target =
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

/** What a worker process does; durations are in milliseconds. */
export interface Work {
  readonly target: Target;
  /** The port of the server that keeps what the locks protect. */
  readonly register: number;
  /** Whether the register checks fences. */
  readonly fences: boolean;
  readonly seed: number;
  /** The locks, the busiest first. */
  readonly locks: readonly string[];
  readonly lease: number;
  /** How many locks it wants at a time. */
  readonly atOnce: number;
  /** Whether its commands wait for their servers for as long as it takes. */
  readonly patient: boolean;
}

/** What a worker process writes, one JSON object per line. Times are those of `now()`. */
export type Line =
  | { readonly type: "ready" }
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
  }
  | {
    readonly type: "section";
    readonly owner: string;
    readonly believed: number;
    readonly acted: number;
    /** Whether a write was made. */
    readonly written: boolean;
  }
  | ({ readonly type: "release" } & Release)
  /** An acquire that was not granted: it was busy, or the code of the error. */
  | { readonly type: "refused"; readonly outcome: string; readonly start: number; readonly end: number }
  /** Something failed that nobody handles. */
  | { readonly type: "unhandled"; readonly message: string }
  /** Something kept it alive when all was over. */
  | { readonly type: "lingering" }
  /** It was told to finish and has; with the calls that have not returned. */
  | { readonly type: "finished"; readonly pending: readonly { readonly lock: string; readonly start: number }[] };
