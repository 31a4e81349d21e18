import { cohort } from "@holdfast/lock/cohort";
import { memory } from "@holdfast/lock/memory";
import { redlock } from "@holdfast/lock/redlock";
import { LockManager } from "@holdfast/lock/web-locks";
import { until } from "../support/until.ts";
import { STEALING } from "./stealing.ts";
import { ACROSS_NAMES, TOGETHER, webLocksSuite } from "./suite.ts";

webLocksSuite({
  of: "LockManager on a cohort of redlock",
  // Redlock steals nothing.
  without: [...Object.keys(STEALING), "request() steals exclusively or not at all", ACROSS_NAMES, TOGETHER],
  open: () => {
    const nodes = [memory(), memory(), memory()];
    const shared = cohort(redlock(nodes));
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
