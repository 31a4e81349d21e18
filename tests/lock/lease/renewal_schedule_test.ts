import { assertEquals, assertThrows } from "@std/assert";
import { RenewalSchedule } from "../../../src/lock/lease/renewal_schedule.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

/** The schedule of a lease of 9 s that is renewed at this interval, or every third of it. */
function scene(interval?: number) {
  const clock = new VirtualClock();
  const settings = { interval: interval ?? 3_000, autoInterval: interval === undefined };
  const schedule = new RenewalSchedule(settings, clock.now(), 9_000);
  return { clock, schedule, dueIn: () => schedule.dueIn(clock.now()) };
}

Deno.test("RenewalSchedule.dueIn() counts one interval from the last request", () => {
  const { clock, schedule, dueIn } = scene();
  assertEquals(dueIn(), 3_000);
  clock.stall(3_100);
  assertEquals(dueIn(), -100);
  schedule.sent(clock.now());
  clock.stall(50);
  schedule.renewed(9_000);
  assertEquals(dueIn(), 2_950);
});

Deno.test("RenewalSchedule.dueIn() is half of the trusted time if the interval is too long", () => {
  const { schedule, dueIn } = scene(8_990);
  assertEquals(dueIn(), 8_990);
  schedule.renewed(8_990);
  assertEquals(dueIn(), 4_495);
});

Deno.test("RenewalSchedule.failed() retries after an eighth of the interval, then later", () => {
  const { clock, schedule, dueIn } = scene();
  const pauses = Array.from({ length: 5 }, () => {
    schedule.failed(clock.now(), 9_000);
    return dueIn();
  });
  assertEquals(pauses, [375, 750, 1_500, 3_000, 3_000]);
  schedule.renewed(9_000);
  schedule.failed(clock.now(), 9_000);
  assertEquals(dueIn(), 375);
});

Deno.test("RenewalSchedule.failed() leaves time for a retry, at least a millisecond", () => {
  const { clock, schedule, dueIn } = scene();
  schedule.failed(clock.now(), 500);
  assertEquals(dueIn(), 250);
  schedule.failed(clock.now(), 1);
  assertEquals(dueIn(), 1);
});

Deno.test("RenewalSchedule.failed() counts from the failure, not from the sending", () => {
  const { clock, schedule, dueIn } = scene();
  clock.stall(1_000);
  schedule.failed(clock.now(), 8_000);
  assertEquals(dueIn(), 375);
});

Deno.test("RenewalSchedule without an interval is never due, also after a failure", () => {
  const { clock, schedule, dueIn } = scene(Infinity);
  schedule.failed(clock.now(), 9_000);
  assertEquals(dueIn(), Infinity);
});

Deno.test("RenewalSchedule.follow() adapts the interval to the lease unless it was given", () => {
  for (const [interval, expected] of [[undefined, 1_000], [500, 500], [Infinity, Infinity]] as const) {
    const { schedule, dueIn } = scene(interval);
    schedule.follow(3_000);
    schedule.renewed(3_000);
    assertEquals(dueIn(), expected);
  }
});

Deno.test("RenewalSchedule.check() refuses a lease that a given interval does not fit in", () => {
  assertThrows(() => scene(500).schedule.check(500), RangeError, "renew must be less than the lease of 500 ms");
  scene(500).schedule.check(501);
  scene().schedule.check(10);
  scene(Infinity).schedule.check(10);
});

Deno.test("RenewalSchedule.answerLimitMs() is the interval, or half of a short lease", () => {
  assertEquals(scene().schedule.answerLimitMs(9_000), 3_000);
  assertEquals(scene(50).schedule.answerLimitMs(9_000), 1_000);
  assertEquals(scene(50).schedule.answerLimitMs(900), 450);
});
