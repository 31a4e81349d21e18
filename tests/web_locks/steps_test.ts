import { SystemClock } from "../../src/_clock.ts";
import { MemoryStore } from "../../src/stores/_memory_store.ts";
import { LockManager } from "@holdfast/lock/web-locks";
import { until } from "../faults/until.ts";
import type { Locks } from "./place.ts";
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

// The same tests, on what they were written for: where they hold, the code that uses our manager runs there and here.
const platform: Locks | undefined = Reflect.get(navigator, "locks");

webLocksSuite({
  of: "navigator.locks",
  open: () => ({ connect: () => platform!, close: () => {} }),
  // Deno 2.9 differs from the specification here.
  except: [
    "request() converts the name to a string",
    "request() does not call back before it returns",
    "ifAvailable calls back with null when somebody waits",
    "those who waited behind an aborted request are served",
  ],
  ignore: platform === undefined,
});
