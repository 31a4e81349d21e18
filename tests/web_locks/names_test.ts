import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { fromStoreName, toStoreName } from "../../src/web_locks/names.ts";

/** Any string, with halves of surrogate pairs in it. */
const anyString = fc.array(fc.oneof(fc.constantFrom(0x22, 0x2d, 0x5c, 0xd83d, 0xde00), fc.nat(0xffff)))
  .map((units) => String.fromCharCode(...units));

Deno.test("toStoreName() leaves names as they are that a store can take", () => {
  for (const name of ["a", "invoice:42", 'a"\\', "😀", "a-"]) assertEquals(toStoreName(name), name);
});

Deno.test("toStoreName() maps every other name to a different one that a store can take", () => {
  assertEquals(toStoreName(""), "-");
  assertEquals(toStoreName('"\ud83d'), '-\\"\\ud83d');
  fc.assert(fc.property(anyString, (name) => {
    const stored = toStoreName(name);
    assert(stored !== "" && stored.isWellFormed());
    if (!name.startsWith("-")) assertEquals(fromStoreName(stored), name);
  }));
});

Deno.test("fromStoreName() gives the names of other programs as they are", () => {
  for (const stored of ["--", "-a", '-"', "-\\", "-\\ud83d\\ude00", "-\\u0041"]) {
    assertEquals(fromStoreName(stored), stored);
  }
  fc.assert(fc.property(anyString.map((string) => `-${string}`), (stored) => {
    const name = fromStoreName(stored);
    assert(name === stored || toStoreName(name) === stored);
  }));
});
