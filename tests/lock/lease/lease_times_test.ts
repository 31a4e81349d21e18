import { assertEquals, assertThrows } from "@std/assert";
import { LeaseTimes } from "../../../src/lock/lease/lease_times.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

/** The times of a lease of 9 s that is trusted to its end, and renewed at this interval, or every third of it. */
function scene(interval?: number) {
  const clock = new VirtualClock();
  const settings = { interval: interval ?? 3_000, autoInterval: interval === undefined };
  const times = new LeaseTimes(settings, clock.now(), 9_000);
  return { clock, times, dueIn: () => times.dueIn(clock.now()), left: () => times.left(clock.now()) };
}

Deno.test("LeaseTimes.left() counts from the moment that the request was sent", () => {
  const { clock, left } = scene();
  clock.stall(400);
  assertEquals(left(), 8_600);
  clock.stall(8_600);
  assertEquals(left(), 0);
});

Deno.test("LeaseTimes.left() goes by the clock that has gone further", () => {
  const { clock, left } = scene();
  clock.setWall(700);
  assertEquals(left(), 8_300);
  clock.setWall(-5_000);
  assertEquals(left(), 9_000);
});

Deno.test("LeaseTimes.renewed() sets the deadline forward or back, from the sending on", () => {
  const { clock, times, left } = scene();
  clock.stall(500);
  times.sent(clock.now(), 9_000);
  clock.stall(50);
  assertEquals(left(), 8_450, "not before the answer");
  times.renewed(9_000);
  assertEquals(left(), 8_950);
  times.renewed(100);
  assertEquals(left(), 50);
});

Deno.test("LeaseTimes.sent() never sets the deadline later", () => {
  const { clock, times, left } = scene();
  clock.stall(500);
  times.sent(clock.now(), 8_600);
  assertEquals(left(), 8_500);
  times.sent(clock.now(), 400);
  assertEquals(left(), 400);
});

Deno.test("LeaseTimes.dueIn() counts one interval from the last request", () => {
  const { clock, times, dueIn } = scene();
  assertEquals(dueIn(), 3_000);
  clock.stall(3_100);
  assertEquals(dueIn(), -100);
  times.sent(clock.now(), 9_000);
  clock.stall(50);
  times.renewed(9_000);
  assertEquals(dueIn(), 2_950);
});

Deno.test("LeaseTimes.dueIn() is half of the trusted time if the interval is too long", () => {
  const { times, dueIn } = scene(8_990);
  assertEquals(dueIn(), 8_990);
  times.renewed(8_990);
  assertEquals(dueIn(), 4_495);
});

Deno.test("LeaseTimes.failed() retries after an eighth of the interval, then later", () => {
  const { clock, times, dueIn } = scene();
  const pauses = Array.from({ length: 5 }, () => {
    times.failed(clock.now());
    return dueIn();
  });
  assertEquals(pauses, [375, 750, 1_500, 3_000, 3_000]);
  times.renewed(9_000);
  times.failed(clock.now());
  assertEquals(dueIn(), 375);
});

Deno.test("LeaseTimes.failed() leaves time for a retry, at least a millisecond", () => {
  const { clock, times, dueIn } = scene();
  clock.stall(8_500);
  times.failed(clock.now());
  assertEquals(dueIn(), 250);
  clock.stall(499);
  times.failed(clock.now());
  assertEquals(dueIn(), 1);
});

Deno.test("LeaseTimes.failed() counts from the failure, not from the sending", () => {
  const { clock, times, dueIn } = scene();
  clock.stall(1_000);
  times.failed(clock.now());
  assertEquals(dueIn(), 375);
});

Deno.test("LeaseTimes without an interval is never due, also after a failure", () => {
  const { clock, times, dueIn } = scene(Infinity);
  times.failed(clock.now());
  assertEquals(dueIn(), Infinity);
});

Deno.test("LeaseTimes.follow() adapts the interval to the lease unless it was given", () => {
  for (const [interval, expected] of [[undefined, 1_000], [500, 500], [Infinity, Infinity]] as const) {
    const { times, dueIn } = scene(interval);
    times.follow(3_000);
    times.renewed(3_000);
    assertEquals(dueIn(), expected);
  }
});

Deno.test("LeaseTimes.check() refuses a lease that a given interval does not fit in", () => {
  assertThrows(() => scene(500).times.check(500), RangeError, "renew must be less than the lease of 500 ms");
  scene(500).times.check(501);
  scene().times.check(10);
  scene(Infinity).times.check(10);
});

Deno.test("LeaseTimes.answerLimitMs() is the interval, or half of a short lease", () => {
  for (const [interval, left, limit] of [[undefined, 9_000, 3_000], [50, 9_000, 1_000], [50, 900, 450]] as const) {
    const { clock, times } = scene(interval);
    clock.stall(9_000 - left);
    assertEquals(times.answerLimitMs(clock.now()), limit);
  }
});
