// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import { summary } from "./report.ts";
import { type Outcome, unheard } from "./run.ts";

const row = (name: string, outcome: Partial<Outcome>) => ({
  name,
  version: "1",
  seconds: 1,
  outcome: { passed: 5, failures: [], skipped: new Map(), ...outcome },
});

Deno.test("summary() adds the runtimes up", () => {
  const rows = [row("bun", { failures: ["a"] }), row("node24", { skipped: new Map([["c", 3]]) })];
  assertEquals(summary(rows), "10 passed, 1 failed, 3 skipped");
  assertEquals(summary([row("bun", {})]), "5 passed, 0 failed");
});

Deno.test("unheard() misses tests and results", () => {
  assertEquals([unheard(5, 5), unheard(5, 6)], [[], []]);
  assertEquals(unheard(0, 0), ["no test was defined"]);
  assertEquals(unheard(5, 4), ["only 4 of 5 tests have a result"]);
});
