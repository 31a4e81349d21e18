import { assert, assertEquals } from "@std/assert";
import { Reconnects } from "../../../../src/stores/redis/wakeups/subscription.ts";
import { VirtualClock } from "../../../support/virtual_clock.ts";

/** Advances the clock until the next try may be made; returns after how many milliseconds. */
async function pauseOf(reconnects: Reconnects, clock: VirtualClock): Promise<number> {
  let retried = false;
  if (!reconnects.pause(() => retried = true)) return 0;
  for (let ms = 1;; ms++) {
    await clock.advance(1);
    if (retried) return ms;
  }
}

Deno.test("Reconnects.pause() returns false before the first failure", () => {
  const reconnects = new Reconnects(new VirtualClock());
  assert(!reconnects.pause(() => {}), "no pause is left");
  assert(!reconnects.pausing, "none is waited for");
});

Deno.test("Reconnects.failed() makes each pause longer, up to a second", async () => {
  const clock = new VirtualClock();
  const reconnects = new Reconnects(clock);
  const pauses: number[] = [];
  for (let i = 0; i < 22; i++) {
    reconnects.failed(undefined);
    pauses.push(await pauseOf(reconnects, clock));
  }
  assertEquals(pauses, [...Array.from({ length: 20 }, (_, i) => 50 * (i + 1)), 1_000, 1_000]);
});

Deno.test("Reconnects.failed() begins again only after a connection of more than a second", async () => {
  const clock = new VirtualClock();
  const reconnects = new Reconnects(clock);
  const pauses: number[] = [];
  for (const openFor of [undefined, undefined, 1_000, 1_001, undefined]) {
    const openSince = openFor === undefined ? undefined : clock.now().monotonic;
    if (openFor !== undefined) await clock.advance(openFor);
    reconnects.failed(openSince);
    pauses.push(await pauseOf(reconnects, clock));
  }
  assertEquals(pauses, [50, 100, 150, 50, 100]);
});

Deno.test("Reconnects.refused() has the next try made after POLL", async () => {
  const clock = new VirtualClock();
  const reconnects = new Reconnects(clock);
  reconnects.refused();
  assertEquals(await pauseOf(reconnects, clock), 5_000);
});

Deno.test("Reconnects.cancel() leaves no timer, and does not shorten the pause", async () => {
  const clock = new VirtualClock();
  const reconnects = new Reconnects(clock);
  reconnects.failed(undefined);
  assert(reconnects.pause(() => assert(false, "cancelled")), "a pause is left");
  assert(reconnects.pausing, "it is waited for");
  reconnects.cancel();
  assertEquals([reconnects.pausing, clock.pending], [false, 0]);
  await clock.advance(20);
  assertEquals(await pauseOf(reconnects, clock), 30);
});
