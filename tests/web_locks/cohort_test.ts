import { memory } from "@holdfast/lock/memory";
import { cohort } from "@holdfast/lock/cohort";
import { LockManager } from "@holdfast/lock/web-locks";
import { until } from "../support/until.ts";
import { webLocksSuite } from "./suite.ts";

webLocksSuite({
  of: "LockManager on a cohort",
  open: () => {
    const store = memory();
    const shared = cohort(store);
    const empty = async () => {
      const { held, pending } = await store.query!();
      return held.length + pending.length === 0;
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
