import { assertEquals } from "@std/assert";
import { overdue } from "../../src/time/clock.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

/** A clock, and how often what is overdue was run on it, `ms` milliseconds after its start. */
function scene(ms: number) {
  const clock = new VirtualClock();
  let runs = 0;
  const timer = overdue(ms, () => runs++, clock, clock.now());
  return { clock, timer, runs: () => runs };
}

Deno.test("overdue() runs its function once, when the time is over", async () => {
  const { clock, runs } = scene(500);
  await clock.advance(499);
  assertEquals(runs(), 0);
  await clock.advance(1);
  assertEquals([runs(), clock.pending], [1, 0]);
  await clock.advance(10_000);
  assertEquals(runs(), 1);
});

Deno.test("overdue() counts from the moment that it was given", async () => {
  const clock = new VirtualClock();
  const from = clock.now();
  clock.stall(300);
  let runs = 0;
  overdue(500, () => runs++, clock, from);
  await clock.advance(199);
  assertEquals(runs, 0);
  await clock.advance(1);
  assertEquals(runs, 1);
});

Deno.test("overdue() runs its function when its timer is late by less than a second", async () => {
  const { clock, runs } = scene(500);
  clock.stall(1_499);
  await clock.advance(0);
  assertEquals([runs(), clock.pending], [1, 0]);
});

Deno.test("overdue() gives answers another second when its timer is late by a second", async () => {
  const { clock, runs } = scene(500);
  clock.stall(1_500);
  await clock.advance(999);
  assertEquals(runs(), 0);
  await clock.advance(1);
  assertEquals([runs(), clock.pending], [1, 0]);
});

Deno.test("overdue() that is cancelled runs nothing, also not a second later", async () => {
  for (const late of [0, 1_500]) {
    const { clock, timer, runs } = scene(500);
    clock.stall(late);
    await clock.advance(0);
    timer.cancel();
    assertEquals(clock.pending, 0);
    await clock.advance(10_000);
    assertEquals(runs(), 0);
  }
});
