import type { Capability, Store } from "@holdfast/lock";
import { HandoffStore } from "../src/handoff/handoff_store.ts";

/**
 * Returns the same store without what it can do for several handles of one process together: each of them stands in its
 * queue by itself, and is granted the lock by itself. What runs and cohorts are measured against, in the same process.
 */
export function plain(handingOn: Store): Store {
  const store: Store = handingOn instanceof HandoffStore ? handingOn.target : handingOn;
  return {
    capabilities: store.capabilities?.filter((each) => !TOGETHER.includes(each)),
    drift: (lease) => store.drift(lease),
    attempt: (claim, options) => store.attempt(claim, options),
    renew: (claim) => store.renew(claim),
    release: (claim) => store.release(claim),
    ...store.wakeup && { wakeup: (claim, signal) => store.wakeup!(claim, signal) },
    ...store.revocation && { revocation: (claim, signal) => store.revocation!(claim, signal) },
    ...store.evict && { evict: (name, options) => store.evict!(name, options) },
    ...store.query && { query: () => store.query!() },
    observer: store.observer,
    get closed() {
      return store.closed ?? false;
    },
    get connectionError() {
      return store.connectionError;
    },
  };
}

const TOGETHER: readonly Capability[] = ["fences", "runs"];
