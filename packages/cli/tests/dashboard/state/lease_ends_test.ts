import { assertEquals } from "@std/assert";
import { LeaseEnds } from "../../../src/dashboard/state/lease_ends.ts";
import type { HolderEntry } from "../../../../../src/contract/store.ts";
import { VirtualClock } from "../../../../../tests/support/virtual_clock.ts";

function holder(expiresIn: number | undefined, handle = "h"): HolderEntry {
  return { name: "a", owner: handle, handle, mode: "exclusive", expiresIn };
}

/** Takes the holders of one lock. */
function update(ends: LeaseEnds, clock: VirtualClock, ...held: HolderEntry[]): void {
  ends.update([{ name: "a", held, pending: [] }], clock.now());
}

Deno.test("LeaseEnds keeps the end while a lease runs down, although answers take time", () => {
  const [ends, clock] = [new LeaseEnds(), new VirtualClock()];
  update(ends, clock, holder(30_000));
  const first = ends.of(holder(0));
  clock.stall(500);
  update(ends, clock, holder(29_480));
  assertEquals(ends.of(holder(0)), first);
  assertEquals(first, { ends: clock.now().wall - 500 + 30_000, longest: 30_000 });
});

Deno.test("LeaseEnds moves the end when the lease is renewed", () => {
  const [ends, clock] = [new LeaseEnds(), new VirtualClock()];
  update(ends, clock, holder(20_000));
  clock.stall(500);
  update(ends, clock, holder(30_000));
  assertEquals(ends.of(holder(0)), { ends: clock.now().wall + 30_000, longest: 30_000 });
});

Deno.test("LeaseEnds moves the end when it drifts in small steps", () => {
  const [ends, clock] = [new LeaseEnds(), new VirtualClock()];
  for (let i = 0; i < 5; i++, clock.stall(100)) update(ends, clock, holder(1_000));
  assertEquals(ends.of(holder(0))!.ends >= clock.now().wall - 100 + 1_000 - 250, true);
});

Deno.test("LeaseEnds keeps the longest time when a lease is made shorter", () => {
  const [ends, clock] = [new LeaseEnds(), new VirtualClock()];
  update(ends, clock, holder(30_000));
  update(ends, clock, holder(5_000));
  assertEquals(ends.of(holder(0)), { ends: clock.now().wall + 5_000, longest: 30_000 });
});

Deno.test("LeaseEnds forgets holders that are gone, and knows none without a lease", () => {
  const [ends, clock] = [new LeaseEnds(), new VirtualClock()];
  update(ends, clock, holder(30_000, "h"), holder(undefined, "other"));
  assertEquals(ends.of(holder(0, "other")), undefined);
  update(ends, clock, holder(30_000, "third"));
  assertEquals(ends.of(holder(0, "h")), undefined);
});
