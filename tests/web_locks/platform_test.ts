import type { Locks } from "./place.ts";
import { webLocksSuite } from "./suite.ts";

/** The lock manager of the platform. */
const platform: Locks = Reflect.get(navigator, "locks");

/** Where that of Deno 2.9 differs from the specification. */
const IN_DENO = [
  "request() converts the name to a string",
  "request() does not call back before it returns",
  "ifAvailable calls back with null when somebody waits",
  "those who waited behind an aborted request are served",
];

// The same tests, on what they were written for: where they hold, the code that uses our manager runs there and here.
webLocksSuite({
  of: "navigator.locks",
  open: () => ({ connect: () => platform, close: () => {} }),
  without: navigator.userAgent.startsWith("Deno/") ? IN_DENO : [],
});
