import { SystemClock } from "../../src/_clock.ts";
import { MemoryStore } from "../../src/stores/_memory_store.ts";
import { LockManager } from "@holdfast/lock/web-locks";
import { until } from "../faults/until.ts";
import { webLocksSuite } from "./suite.ts";

webLocksSuite({
  of: "LockManager on memory",
  open: () => {
    const store = new MemoryStore(undefined, new SystemClock());
    return {
      connect: () => new LockManager(store),
      close: () => until(() => Promise.resolve(store.names.length === 0), "nothing is left"),
    };
  },
});
