import type { Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { memory } from "@holdfast/lock/memory";
import { redlock } from "@holdfast/lock/redlock";
import { LockManager } from "@holdfast/lock/web-locks";
import type { Entry } from "../../src/store.ts";
import { until } from "../support/until.ts";
import { STEALING } from "./stealing.ts";
import { webLocksSuite } from "./suite.ts";

/** Returns a store with a `query()`, which the tests need to see who waits: it lists what has passed through. */
function listing(store: Store): Store {
  const [held, pending] = [new Map<string, Entry>(), new Map<string, Entry>()];
  return {
    capabilities: [...store.capabilities ?? [], "query"],
    drift: (lease) => store.drift(lease),
    attempt: async (claim, options) => {
      const { name, owner, mode } = claim;
      // In the order in which they are sent, as a server sees them.
      if (options.enqueue && !held.has(owner) && !pending.has(owner)) pending.set(owner, { name, owner, mode });
      const attempt = await store.attempt(claim, options);
      if (attempt.granted) {
        pending.delete(owner);
        held.set(owner, { name, owner, mode });
      }
      return attempt;
    },
    renew: (claim) => store.renew(claim),
    release: async (claim) => {
      const released = await store.release(claim);
      held.delete(claim.owner);
      pending.delete(claim.owner);
      return released;
    },
    wakeup: (claim, signal) => store.wakeup!(claim, signal),
    query: () => Promise.resolve({ held: [...held.values()], pending: [...pending.values()] }),
  };
}

webLocksSuite({
  of: "LockManager on a cohort of redlock",
  // Redlock steals nothing.
  without: [...Object.keys(STEALING), "request() steals exclusively or not at all"],
  open: () => {
    const nodes = [memory(), memory(), memory()];
    const shared = cohort(listing(redlock(nodes)));
    const empty = async () => {
      const snapshots = await Promise.all(nodes.map((node) => node.query!()));
      return snapshots.every(({ held, pending }) => held.length + pending.length === 0);
    };
    return {
      connect: () => new LockManager(shared),
      close: async () => {
        await until(empty, "nothing is left");
        await shared[Symbol.asyncDispose]();
      },
    };
  },
});
