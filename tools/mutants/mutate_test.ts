// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { applied } from "./mutant.ts";
import { mutantsOf } from "./mutate.ts";

/** What the mutants make of an expression, or of statements. */
function mutated(text: string): string[] {
  const before = text.endsWith(";") || text.endsWith("}") ? text : `const x = ${text}`;
  return mutantsOf("a.ts", before).map((mutant) => applied(before, mutant).replace("const x = ", ""));
}

Deno.test("mutantsOf() changes operators", () => {
  assertEquals(mutated("a + b"), ["a - b"]);
  assertEquals(mutated("a < b"), ["a <= b", "a >= b"]);
  assertEquals(mutated("a === b"), ["a !== b"]);
  assertEquals(mutated("a && b"), ["a || b"]);
  assertEquals(mutated("a ?? b"), ["a && b"]);
  assertEquals(mutated("!a"), ["a"]);
  assertEquals(mutated("-a"), ["a"]);
  assertEquals(mutated("i++"), ["i--"]);
  assertEquals(mutated("a += b;"), [";", "a -= b;"]);
});

Deno.test("mutantsOf() changes conditions, constants, calls, and what is awaited", () => {
  assertEquals(mutated("a ? b : c"), ["true ? b : c", "false ? b : c"]);
  assertEquals(mutated("if (a) b();"), ["if (true) b();", "if (false) b();", "if (a) ;"]);
  assertEquals(mutated("while (a) {}"), ["while (false) {}"]);
  assertEquals(["0", "1", "30_000", "2n", "true"].flatMap(mutated), ["1", "0", "60000", "4n", "false"]);
  assertEquals(mutated("Math.max(a, b)"), ["Math.min(a, b)"]);
  assertEquals(mutated("a.filter(b).length"), ["a.length"]);
  assertEquals(mutated("await a"), ["a"]);
  assertEquals(mutated("() => a()"), ["() => undefined"]);
});

Deno.test("mutantsOf() takes statements out", () => {
  assertEquals(mutated("a();"), [";"]);
  assertEquals(mutated("for (const a of b) { break; }"), ["for (const a of b) { ; }"]);
  assertEquals(mutated("function a() { return; }"), ["function a() { ; }"]);
});

Deno.test("mutantsOf() changes SQL", () => {
  assertEquals(mutated("`SELECT a FROM b WHERE c > ? AND d`"), [
    "`SELECT a FROM b WHERE c >= ? AND d`",
    "`SELECT a FROM b WHERE c > ? OR d`",
  ]);
  assertEquals(mutated("`DELETE FROM a WHERE b < ${1}`"), [
    "`DELETE FROM a WHERE b <= ${1}`",
    "`DELETE FROM a WHERE b < ${0}`",
  ]);
  // A part of a statement, as it is joined to others.
  assertEquals(mutated("`${a} AND b >= ${c}`"), ["`${a} AND b > ${c}`", "`${a} OR b >= ${c}`"]);
  assertEquals(mutated("`SELECT GREATEST(a, b) FOR UPDATE SKIP LOCKED`"), [
    "`SELECT LEAST(a, b) FOR UPDATE SKIP LOCKED`",
    "`SELECT GREATEST(a, b) FOR UPDATE`",
  ]);
});

Deno.test("mutantsOf() leaves types, imports, texts and what errors say", () => {
  assertEquals(mutated("type A = 1;"), []);
  assertEquals(mutated("interface A { readonly b: 1 | true }"), []);
  assertEquals(mutated(`import { a } from "./b.ts";`), []);
  assertEquals(mutated("`a < b`"), []);
  assertEquals(mutated("new Error(`a ${b + c} ${d ? 1 : 2}`)"), []);
  assertEquals(mutated("async function a() { return await b(); }"), []);
  assertEquals(mutated("async () => await b"), []);
});

Deno.test("mutantsOf() names each mutant by its place, not by its line", () => {
  const text = "class A { #b() { c(1 < 2); c(1 < 2); } }";
  const mutants = mutantsOf("a.ts", text);
  assertEquals(mutants[0]!.key, "a.ts A.#b: c(1 < 2); → ;");
  const keys = mutants.map(({ key }) => key);
  assertEquals(new Set(keys).size, keys.length);
  assert(keys.includes("a.ts A.#b: c(1 < 2) → c(1 <= 2) (2)"), keys.join("\n"));
  assertEquals(mutantsOf("a.ts", `// More.\n\n${text}`).map(({ key }) => key), keys);
});
