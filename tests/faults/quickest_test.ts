// Deno only: it tests a tool of tests that are for Deno only.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { VirtualClock } from "../support/virtual_clock.ts";
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
  const clock = new VirtualClock();
  using lateness = new Lateness(clock);
  await clock.advance(100);
  assertEquals(lateness.ms, 0);
  clock.stall(200);
  await clock.advance(100);
  assert(lateness.ms >= 185 && lateness.ms <= 200, `${lateness.ms} ms`);
});
