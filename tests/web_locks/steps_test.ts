import { SystemClock } from "../../src/time/clock.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { LockManager } from "@holdfast/lock/web-locks";
import { until } from "../support/until.ts";
import { webLocksSuite } from "./suite.ts";

webLocksSuite({
  of: "LockManager on memory",
  open: () => {
    const store = new MemoryStore(undefined, new SystemClock());
    return {
      connect: () => new LockManager(store),
      close: () => until(() => store.names.length === 0, "nothing is left"),
    };
  },
});
