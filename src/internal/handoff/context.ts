import type { Clock } from "../time/clock.ts";
import type { ShortLivedMap } from "../process/short_lived.ts";
import type { Store } from "../../store.ts";

/** How long a process hands a lock on, and keeps it, in milliseconds. */
export interface HandoffSettings {
  /** For how long after a grant it hands the lock on to its own handles ahead of others; 0: only to those of a run. */
  readonly keep: number;
  /** For how long it keeps a lock that no handle holds. */
  readonly linger: number;
}

/** A store whose locks are handed on. */
export interface HandoffTarget extends Store {
  /** Calls a function once the store was closed for good. Returns what cancels that. */
  onClosed?(run: () => void): () => void;
}

/** Where the handles of a process that want one lock are at work. */
export interface HandoffContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: HandoffSettings;
  /** The group of the handles of one process: a store may grant them the lock together. */
  readonly group: string;
  /** Whether other objects in this process may revoke the lock without its knowledge: then the store is asked. */
  readonly watches: boolean;
  /** By their ids: the handles whose places in the store's queue are given back. Until then they must not attempt again. */
  readonly leaving: ShortLivedMap<string, Promise<void>>;
  /** Takes note of something that goes on in the background, and does not reject. */
  track(request: Promise<unknown>): void;
}
