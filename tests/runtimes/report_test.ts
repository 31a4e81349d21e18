// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import { parse } from "../support/command_line.ts";
import { programOf } from "./options.ts";
import { failures, summary } from "./report.ts";
import { type Outcome, unheard } from "./run.ts";

const row = (name: string, outcome: Partial<Outcome>) => ({
  name,
  version: "1",
  seconds: 1,
  outcome: { passed: 5, failures: [], repeated: [], skipped: new Map(), ...outcome },
});

Deno.test("summary() names flaky tests above the count, of which more than two are failures", () => {
  const two = [
    row("bun", { repeated: ["a\nError"] }),
    row("node24", { repeated: ["b\nError"], skipped: new Map([["c", 3]]) }),
  ];
  assertEquals(summary(two), "2 flaky: a (bun); b (node24)\n10 passed, 0 failed, 3 skipped");
  assertEquals(failures(two), 0);
  const three = [row("bun", { repeated: ["a\nError", "b\nError"] }), row("node24", { repeated: ["a\nError"] })];
  assertEquals(summary(three), "3 flaky: a (bun); b (bun); a (node24)\n7 passed, 3 failed");
  assertEquals(failures(three), 3);
  assertEquals(summary([row("bun", { failures: ["a"] })]), "5 passed, 1 failed");
});

Deno.test("unheard() misses tests and results", () => {
  assertEquals([unheard(5, 5), unheard(5, 6)], [[], []]);
  assertEquals(unheard(0, 0), ["no test was defined"]);
  assertEquals(unheard(5, 4), ["only 4 of 5 tests have a result"]);
});

Deno.test("deno task test:runtimes takes --once and names of runtimes", () => {
  const program = programOf(["bun", "node24"]);
  assertEquals(parse(program, []), { once: false, names: ["bun", "node24"] });
  assertEquals(parse(program, ["--once", "bun"]), { once: true, names: ["bun"] });
});
