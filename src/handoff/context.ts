import type { Clock } from "../time/clock.ts";
import type { ShortLivedMap } from "../time/short_lived.ts";
import type { Claim, Meta, Store } from "../contract/store.ts";
import type { ProcessLease } from "./process_lease.ts";

/** How long a process hands a lock on, and keeps it, in milliseconds. */
export interface HandoffSettings {
  /** For how long after a grant it hands the lock on ahead of others; 0: only to the members of a run. */
  readonly keep: number;
  /** For how long it keeps a lock that no handle holds. */
  readonly linger: number;
}

export interface HandoffTarget extends Store {
  /** Calls a function once the store was closed for good. Returns a function that cancels this. */
  onClosed?(run: () => void): () => void;
  /**
   * Does the same as {@linkcode Store.revocation} where that costs no request, because the handles of this process that
   * wait for the lock are notified anyway. Returns `undefined` where they are not.
   */
  revocationHeard?(claim: Claim, signal: AbortSignal): Promise<Meta | void> | undefined;
}

/** The shared state of the handles of a process that want the same lock. */
export interface HandoffContext {
  readonly store: HandoffTarget;
  readonly clock: Clock;
  readonly settings: HandoffSettings;
  /** The group of the handles of one process: a store may grant them the lock together. */
  readonly group: string;
  /** Whether callers have the store itself, and may revoke the lock through it: then the store is asked. */
  readonly watches: boolean;
  /** The handles whose places in the store's queue are being given back: until then they must not attempt again. */
  readonly leaving: ShortLivedMap<string, Promise<void>>;
  /**
   * The grants that ended before their holders released, by the ids of these handles: the store may have put them into
   * its queue since.
   */
  readonly ended: ShortLivedMap<string, { readonly id: string; readonly lease: ProcessLease }>;
  /** Tracks a request in the background, which does not reject. */
  track(request: Promise<unknown>): void;
}
