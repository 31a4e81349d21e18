import { assert, assertEquals } from "@std/assert";
import { Fences } from "../../../src/stores/memory/fences.ts";

/** More names than are remembered. */
const MANY = 5_000;

Deno.test("Fences.last() is the last fence of a name", () => {
  const fences = new Fences();
  fences.raise("a", 7n);
  fences.raise("b", 3n);
  fences.raise("b", 5n);
  assertEquals([fences.last("a"), fences.last("b"), fences.last("c")], [7n, 5n, 0n]);
});

Deno.test("Fences.last() of a forgotten name does not fall when lower ones are forgotten", () => {
  const fences = new Fences();
  fences.raise("high", 100n);
  for (let i = 0; i < MANY; i++) fences.raise(`low ${i}`, 1n);
  assert(fences.last("high") >= 100n, `${fences.last("high")}`);
});
