import { within } from "../../internal/lease/release.ts";
import type { Clock } from "../../internal/time/clock.ts";
import type { Store } from "../../store.ts";

/** A store whose calls can be waited for. */
export interface TrackedStore {
  readonly store: Store;
  /** Resolves when no attempt and no release is without an answer, or after so many milliseconds. */
  idle(ms: number, clock: Clock): Promise<void>;
}

/**
 * Returns a store with as much of another one as a single handle needs, whose calls can be waited for.
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
  return { store: tracked, idle: (ms, clock) => within(ms, empty(), clock).catch(() => {}) };
}
