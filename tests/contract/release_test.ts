import { assert, assertEquals } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { LATE, releaseWithRetry, within } from "../../src/contract/release.ts";
import type { Claim } from "../../src/contract/store.ts";
import { hanging, inTurn, refused, ScriptedStore, unreachable } from "../support/scripted_store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";

const CLAIM: Claim = { name: "a", owner: "o", handle: undefined, mode: "exclusive", permits: undefined, lease: 900 };

interface Scene {
  readonly clock: VirtualClock;
  readonly store: ScriptedStore;
  /** The faults that were noted. */
  readonly noted: unknown[];
  /** What became of it so far: what it gave, the error, or `"pending"`. */
  readonly result: () => unknown;
}

/** A claim that is being given up to a store with these answers. */
function scene(...answers: (() => boolean | Promise<boolean>)[]): Scene {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.onRelease = inTurn(...answers);
  const noted: unknown[] = [];
  let result: unknown = "pending";
  releaseWithRetry(store, CLAIM, clock, noted).then(
    (released) => result = released,
    (error: unknown) => {
      result = error;
    },
  );
  return { clock, store, noted, result: () => result };
}

Deno.test("releaseWithRetry() resolves to whether the lock was still held", async () => {
  for (const released of [true, false]) {
    const all = scene(() => released);
    await settled();
    assertEquals([all.result(), all.store.times("release"), all.noted], [released, [0], []]);
  }
});

Deno.test("releaseWithRetry() counts a lock that a call before may have released", async () => {
  const all = scene(unreachable, () => false);
  await all.clock.advance(10);
  assertEquals([all.result(), all.store.times("release")], [true, [0, 10]]);
});

Deno.test("releaseWithRetry() retries with pauses of 10 to 500 ms, at last after 4.9 s", async () => {
  const all = scene(unreachable);
  await all.clock.advance(4_899);
  assertEquals(all.result(), "pending");
  await all.clock.advance(1);
  assert(all.result() instanceof Error && all.clock.pending === 0, `${all.result()}`);
  const later = [1_130, 1_630, 2_130, 2_630, 3_130, 3_630, 4_130, 4_630, 4_900];
  assertEquals(all.store.times("release"), [0, 10, 30, 70, 150, 310, 630, ...later]);
});

Deno.test("releaseWithRetry() does not go by the wall clock", async () => {
  const all = scene(unreachable, () => true);
  await settled();
  all.clock.setWall(3_600_000);
  await all.clock.advance(10);
  assertEquals([all.result(), all.store.times("release")], [true, [0, 10]]);
});

Deno.test("releaseWithRetry() counts its time from the first fault, not from the call", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  const all = scene(() => promise, unreachable);
  await all.clock.advance(3_000);
  reject(new Error("connection lost"));
  await all.clock.advance(4_899);
  assertEquals(all.result(), "pending");
  await all.clock.advance(1);
  assert(all.result() instanceof Error, `${all.result()}`);
});

Deno.test("releaseWithRetry() still retries when a millisecond is left", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  const all = scene(unreachable, () => promise, () => true);
  await all.clock.advance(4_899);
  reject(new Error("connection lost"));
  await all.clock.advance(1);
  assertEquals([all.result(), all.store.times("release")], [true, [0, 10, 4_900]]);
});

Deno.test("releaseWithRetry() reports each fault, and rejects with the last one", async () => {
  const faults = [new Error("first"), new StoreError("last", { permanent: true })];
  const all = scene(...faults.map((fault) => () => Promise.reject(fault)));
  await all.clock.advance(10);
  assert(all.result() === faults[1], `${all.result()}`);
  assertEquals(all.noted, faults);
  const who = { name: "a", owner: "o", handle: "o", mode: "exclusive", permits: undefined } as const;
  const event = { type: "fault", ...who, operation: "release" } as const;
  assertEquals(all.store.events, faults.map((error) => ({ ...event, error })));
});

Deno.test("releaseWithRetry() ends at once on a permanent fault or a closed store", async () => {
  const closed = scene(unreachable);
  closed.store.closed = true;
  for (const all of [scene(refused), scene(() => Promise.reject(new TypeError("bad"))), closed]) {
    await settled();
    assert(all.result() instanceof Error, `${all.result()}`);
    assertEquals([all.store.times("release"), all.clock.pending], [[0], 0]);
  }
});

Deno.test("releaseWithRetry() hangs when the store does", async () => {
  const all = scene(hanging);
  await all.clock.advance(3_600_000);
  assertEquals([all.result(), all.store.times("release")], ["pending", [0]]);
});

Deno.test("within() settles like the promise, and leaves no timer", async () => {
  const clock = new VirtualClock();
  assertEquals(await within(100, Promise.resolve(7), clock), 7);
  assertEquals(clock.pending, 0);
  const fault = new Error("down");
  assert(await within(100, Promise.reject(fault), clock).catch((error: unknown) => error) === fault);
  assertEquals(clock.pending, 0);
});

Deno.test("within() rejects with LATE when its time is over, and ignores what comes later", async () => {
  for (const late of ["resolves", "rejects"]) {
    const clock = new VirtualClock();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let result: unknown = "pending";
    within(100, promise, clock).catch((error: unknown) => result = error);
    await clock.advance(99);
    assertEquals(result, "pending");
    await clock.advance(1);
    assert(result === LATE, String(result));
    if (late === "rejects") reject(new Error("nobody is there to handle this"));
    else resolve();
    await settled();
    assertEquals(clock.pending, 0);
  }
});

Deno.test("within() waits another second for an answer when its timer runs late", async () => {
  // The process is stopped for a minute; or its machine is, whose monotonic clock then stands still.
  const sleeps = [(clock: VirtualClock) => clock.stall(60_000), (clock: VirtualClock) => clock.setWall(60_000)];
  for (const sleep of sleeps) {
    for (const isAnswered of [true, false]) {
      const clock = new VirtualClock();
      const { promise, resolve } = Promise.withResolvers<string>();
      const result = within(100, promise, clock).catch((error: unknown) => error);
      sleep(clock);
      await clock.advance(100);
      await clock.advance(899);
      if (isAnswered) resolve("answered");
      await clock.advance(101);
      assertEquals(await result, isAnswered ? "answered" : LATE);
      assertEquals(clock.pending, 0);
    }
  }
});
