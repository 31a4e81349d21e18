import { assertEquals } from "@std/assert";
import { LockTimeoutError, QuorumError, StoreError } from "@holdfast/lock";
import { UsageError } from "../src/command.ts";
import { errorText, failureOf } from "../src/failure.ts";

Deno.test("failureOf() has an exit status for each kind of failure", () => {
  const statuses = [
    new UsageError("a"),
    new LockTimeoutError("a"),
    new StoreError("a"),
    new QuorumError("a", []),
    Object.assign(new Error("a"), { code: "EACCES" }),
    "a",
  ].map((error) => failureOf(error).status);
  assertEquals(statuses, [2, 75, 69, 69, 1, 1]);
});

Deno.test("failureOf() has messages of one line, but for faults of the program itself", () => {
  assertEquals(failureOf(new StoreError("a\nb \x1b[1m")).message, "a; b \\u001b[1m");
  assertEquals(failureOf(new TypeError("a")).message.split("\n").length > 1, true);
});

Deno.test("errorText() begins each line with the name of the program", () => {
  assertEquals(errorText("Error: a\n    at b"), "holdfast: Error: a\nholdfast:     at b\n");
});

Deno.test("failureOf() names the flag of a permission that Deno denies, also as a cause", () => {
  const denied = new Error('Requires net access to "h:1", run again with the --allow-net flag');
  const message = "Deno denies net access to h:1: run with --allow-net=h:1";
  for (
    const error of [
      denied,
      new StoreError("failed", { cause: denied }),
      new AggregateError([new Error("other", { cause: denied })]),
      new StoreError(`connection lost: ${denied.message}`),
    ]
  ) assertEquals(failureOf(error), { status: 2, message });
  const env = new Error('Requires env access to "A", run again with the --allow-env flag');
  assertEquals(failureOf(env).message, "Deno denies env access to A: run with --allow-env");
  const all = new Error("Requires sys access, run again with the --allow-sys flag");
  assertEquals(failureOf(all).message, "Deno denies sys access: run with --allow-sys");
});

Deno.test("failureOf() ends although errors are inside of each other", () => {
  const [one, two] = [new Error("one"), new Error("two")];
  one.cause = two;
  two.cause = one;
  assertEquals(failureOf(one).status, 1);
});
