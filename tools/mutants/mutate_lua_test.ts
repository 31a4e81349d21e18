// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { compile } from "../lua/compile.ts";
import { build } from "../../tests/tools/scripts/build.ts";
import * as constants from "../../src/stores/redis/constants.ts";
import { luaFiles } from "../../tests/tools/scripts/text_files.ts";
import { applied } from "./mutant.ts";
import { luaMutantsOf } from "./mutate_lua.ts";

/** What the mutants make of statements. */
function mutated(text: string): string[] {
  return luaMutantsOf("a.lua", text).map((mutant) => applied(text, mutant));
}

/** What the mutants make of an expression. */
function expressions(text: string): string[] {
  return mutated(`return ${text}`).map((mutant) => mutant.replace("return ", ""));
}

Deno.test("luaMutantsOf() changes operators", () => {
  assertEquals(expressions("a + b"), ["a - b"]);
  assertEquals(expressions("a < b"), ["a <= b"]);
  assertEquals(expressions("a == b"), ["a ~= b"]);
  assertEquals(expressions("(a or b) >= (c)"), ["(a or b) > (c)", "(b) >= (c)", "(a) >= (c)"]);
  assertEquals(expressions("-a"), ["a"]);
  assertEquals(expressions("a .. b"), []);
});

Deno.test("luaMutantsOf() drops each side of `and` and `or`, and `not`", () => {
  assertEquals(expressions("a and b"), ["b", "a"]);
  assertEquals(expressions("(a or b) and c"), ["c", "(a or b)", "(b) and c", "(a) and c"]);
  assertEquals(expressions("not (a and b)"), ["(a and b)", "not (b)", "not (a)"]);
});

Deno.test("luaMutantsOf() changes conditions", () => {
  assertEquals(mutated("if a then elseif b then end"), [
    "if true then elseif b then end",
    "if false then elseif b then end",
    "if a then elseif true then end",
    "if a then elseif false then end",
  ]);
  assertEquals(mutated("while a do end"), ["while false do end"]);
});

Deno.test("luaMutantsOf() takes calls and assignments out", () => {
  assertEquals(mutated("f(a)\nb = c"), ["do end\nb = c", "f(a)\ndo end"]);
  assertEquals(mutated("local a = b"), []);
});

Deno.test("luaMutantsOf() changes constants, and functions of numbers", () => {
  assertEquals(["0", "1", "30", "true"].flatMap(expressions), ["1", "0", "60", "false"]);
  assertEquals(expressions("$POLL_MS"), ["$QUEUE_WINDOW"]);
  assertEquals(expressions("'$TURN' .. a"), ["'$UNPROVABLE' .. a"]);
  assertEquals(expressions("'$FENCE_TTL_MS'"), ["'$FOREIGN_POLL_MS'"]);
  assertEquals(expressions("$PERSISTED_LEASE_MS"), ["$POLL_MS"]);
  assertEquals(expressions("math.max(a, b)"), ["math.min(a, b)"]);
});

Deno.test("luaMutantsOf() leaves flags of commands out, and closes open ranges", () => {
  assertEquals(expressions("redis.call('SET', a, b, 'NX', 'PX', c)"), ["redis.call('SET', a, b, 'PX', c)"]);
  assertEquals(expressions("redis.call('ZRANGE', a, '(0', b)"), ["redis.call('ZRANGE', a, '0', b)"]);
});

Deno.test("luaMutantsOf() names each mutant by its function, not by its line", () => {
  const text = "local function f()\n  a(b)\n  a(b)\nend\nif c == d then end\n";
  const mutants = luaMutantsOf("a.lua", text);
  assertEquals(mutants.map(({ key }) => key), [
    "a.lua f: a(b) → do end",
    "a.lua f: a(b) → do end (2)",
    "a.lua : c == d → true",
    "a.lua : c == d → false",
    "a.lua : c == d → c ~= d",
  ]);
  assertEquals(mutants.map(({ line }) => line), [2, 3, 5, 5, 5]);
  assertEquals(luaMutantsOf("a.lua", `-- µs\n\n${text}`).map(({ key }) => key), mutants.map(({ key }) => key));
});

Deno.test("luaMutantsOf() makes scripts that can be built and compiled", async () => {
  const texts = await luaFiles();
  let count = 0;
  for (const [path, text] of texts) {
    for (const mutant of luaMutantsOf(path, text)) {
      const changed = applied(text, mutant);
      assert(changed !== text, mutant.key);
      compile(changed.replace(/\$(?=[A-Z])|[^\n -~]/g, "_"), new Map());
      count++;
    }
  }
  assert(count > 500, `${count} mutants`);
  const [path, text] = [...texts].find(([path]) => path.endsWith("/attempt.lua"))!;
  for (const mutant of luaMutantsOf(path, text)) build(new Map([...texts, [path, applied(text, mutant)]]), constants);
});
