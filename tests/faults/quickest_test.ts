// Deno only: it tests a tool of tests that are for Deno only.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import { Lateness, quickest } from "./quickest.ts";

Deno.test("quickest() runs until it was quick once, and rejects when it never is", async () => {
  const attempts: number[] = [];
  await quickest(10, (attempt) => {
    attempts.push(attempt);
    return Promise.resolve(12 - attempt);
  });
  assertEquals(attempts, [0, 1, 2]);
  await assertRejects(() => quickest(10, () => Promise.resolve(11)), Error, "11, 11, 11, 11, 11 ms");
});

Deno.test("Lateness counts the time in which the process did not run, and no other", async () => {
  await quickest(0, async () => {
    using lateness = new Lateness();
    await delay(100);
    return lateness.ms;
  });
  using lateness = new Lateness();
  await delay(20);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  await delay(20);
  assert(lateness.ms >= 185, `${lateness.ms} ms`);
});
