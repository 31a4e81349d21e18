import { assert, assertEquals } from "@std/assert";
import { CallNumbers } from "../../../src/stores/durable_object/call_numbers.ts";

Deno.test("CallNumbers.accept() takes no number twice, and no smaller one", () => {
  const calls = new CallNumbers();
  assert(calls.accept("a", 2, 0) && calls.accept("b", 1, 0));
  assert(!calls.accept("a", 2, 0) && !calls.accept("a", 1, 0));
});

Deno.test("CallNumbers.accept() remembers a call for a minute", () => {
  const calls = new CallNumbers();
  calls.accept("a", 2, 0);
  calls.accept("b", 1, 59_999);
  assert(!calls.accept("a", 1, 59_999));
  calls.accept("b", 2, 60_000);
  assert(calls.accept("a", 1, 60_000));
});

Deno.test("CallNumbers.accept() remembers for a minute from the last call on", () => {
  const calls = new CallNumbers();
  calls.accept("a", 2, 0);
  calls.accept("a", 3, 40_000);
  calls.accept("b", 1, 80_000);
  assert(!calls.accept("a", 1, 80_000));
});

Deno.test("CallNumbers.last are the last 64 calls, which another object adds", () => {
  const calls = new CallNumbers();
  for (let i = 0; i < 100; i++) calls.accept(`${i}`, 5, i);
  assertEquals(calls.last.length, 64);
  const other = new CallNumbers();
  other.add(JSON.parse(JSON.stringify(calls.last)));
  assert(other.accept("35", 4, 100) && !other.accept("36", 4, 100) && !other.accept("99", 4, 100));
});

Deno.test("CallNumbers.last has a caller once, in the place of its last call", () => {
  const calls = new CallNumbers();
  for (const [caller, number] of [["a", 1], ["b", 1], ["a", 2], ["c", 1]] as const) calls.accept(caller, number, 0);
  assertEquals(calls.last, [["b", 1, 0], ["a", 2, 0], ["c", 1, 0]]);
});

Deno.test("CallNumbers.last has no call that is forgotten", () => {
  const calls = new CallNumbers();
  calls.accept("a", 1, 0);
  calls.accept("b", 1, 60_000);
  assertEquals(calls.last, [["b", 1, 60_000]]);
});
