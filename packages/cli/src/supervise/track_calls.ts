import type { Store } from "@holdfast/lock";
import type { Clock } from "../time/clock.ts";
import { within } from "../time/within.ts";

/** A store with a method that waits for its calls. */
export interface TrackedStore {
  readonly store: Store;
  /** Resolves when every attempt and every release is answered, or after `ms` milliseconds. */
  idle(ms: number, clock: Clock): Promise<void>;
}

/**
 * Returns a store with the methods that a single handle needs, whose calls can be waited for. At the end of a wait the
 * handle leaves the queue in the background. If the process exited at once, the handle would stay in the queue, and the
 * other waiters would have to detect its death.
 *
 * A wait that ends leaves the queue in the background. A process that exits at once would stay in the queue, and the
 * others would have to find out that it died.
 */
export function trackCalls(store: Store): TrackedStore {
  const pending = new Set<Promise<unknown>>();
  const track = <T>(call: Promise<T>): Promise<T> => {
    const settled: Promise<void> = call.then(() => {}, () => {}).finally(() => pending.delete(settled));
    pending.add(settled);
    return call;
  };
  const { wakeup, revocation, capabilities = [], observer } = store;
  const tracked: Store = {
    attempt: (claim, options) => track(store.attempt(claim, options)),
    renew: (claim) => store.renew(claim),
    release: (claim) => track(store.release(claim)),
    ...wakeup === undefined ? {} : { wakeup: wakeup.bind(store) },
    ...revocation === undefined ? {} : { revocation: revocation.bind(store) },
    drift: (lease) => store.drift(lease),
    // There is one handle: nothing is handed on.
    capabilities: capabilities.filter((each) => !["runs", "evict", "query"].includes(each)),
    observer,
    get closed() {
      return store.closed ?? false;
    },
    get connectionError() {
      return store.connectionError;
    },
  };
  const empty = async () => {
    // An attempt that is answered late is followed by a release.
    while (pending.size > 0) await Promise.all(pending);
  };
  // A call that takes longer is not waited for, and each caller has its own error.
  return { store: tracked, idle: (ms, clock) => within(ms, empty(), clock).catch(() => {}) };
}
