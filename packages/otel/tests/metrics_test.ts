import { acquire, type Observer, type Store, StoreError, tryAcquire, withLock } from "@holdfast/lock";
import { type Cohort, cohort } from "@holdfast/lock/cohort";
import { memory } from "@holdfast/lock/memory";
import { otel } from "@holdfast/otel";
import { redlock } from "@holdfast/lock/redlock";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { busy, granted, hanging, inTurn, refused, unreachable } from "../../../tests/support/scripted_store.ts";
import { until } from "../../../tests/support/until.ts";
import { Place } from "./place.ts";
import { RecordingMeter } from "./recording.ts";

Deno.test("otel() records in seconds how long a call took and a lock was held", async () => {
  const place = new Place();
  place.store.onAttempt = inTurn(() => busy(250), () => granted(1n));
  const acquiring = place.acquire("a");
  await place.clock.advance(250);
  const lock = await acquiring;
  await place.clock.advance(2_000);
  await lock?.release();
  assertEquals(place.meter.of("wait.duration"), [{ value: 0.25, attributes: { result: "acquired" } }]);
  assertEquals(place.meter.of("hold.duration"), [{ value: 2, attributes: { end: "released" } }]);
  for (const name of ["wait.duration", "hold.duration"]) {
    assertEquals(place.meter.instruments.get(`holdfast.lock.${name}`)?.unit, "s");
  }
});

Deno.test("otel() records as result how each call ended", async () => {
  const place = new Place();
  const results = () => place.meter.of("wait.duration").map(({ attributes }) => attributes["result"]);
  await place.hold("a");
  place.store.onAttempt = () => busy(1_000);
  assertEquals(await place.acquire("a", { wait: 0 }), null);
  const controller = new AbortController();
  const waiting = [place.acquire("a", { wait: 100 }), place.acquire("a", { signal: controller.signal })];
  const ends = Promise.allSettled(waiting);
  await place.clock.advance(100);
  controller.abort();
  await place.clock.advance(0);
  await ends;
  place.store.onAttempt = () => ({ granted: false, conflict: { present: "shared", own: true } });
  await assertRejects(() => place.acquire("a"), Error);
  place.store.onAttempt = refused;
  await assertRejects(() => place.acquire("a"), Error);
  assertEquals(results(), ["acquired", "busy", "timeout", "aborted", "conflict", "error"]);
});

Deno.test("otel() records as end how each lock ended", async () => {
  const place = new Place();
  await (await place.hold("a")).release();
  place.store.onRenew = () => "lost";
  await place.hold("a", { lease: 900 });
  await place.clock.advance(300);
  await place.hold("a", { lease: 900, renew: false });
  await place.clock.advance(900);
  const ends = place.meter.of("hold.duration").map(({ attributes }) => attributes["end"]);
  assertEquals(ends, ["released", "missing", "expired"]);
  assertEquals(place.meter.sum("active"), 0);
});

Deno.test("otel() records a lock that was evicted as revoked", async () => {
  const meter = new RecordingMeter();
  const store = memory({ observer: otel({ meter }) });
  const lock = await acquire(store, "a", { strict: false });
  const { signal } = lock;
  await store.evict?.("a");
  await until(() => signal.aborted, "the holder is notified");
  assertEquals(meter.of("hold.duration").map(({ attributes }) => attributes["end"]), ["revoked"]);
  await assertRejects(() => lock.release(), Error);
});

Deno.test("otel() counts as active the locks that are held at present", async () => {
  const place = new Place();
  const locks = [await place.hold("a"), await place.hold("b")];
  assertEquals(place.meter.sum("active"), 2);
  for (const lock of locks) await lock.release();
  assertEquals(place.meter.sum("active"), 0);
});

Deno.test("otel() counts a lock as active while its renewals fail", async () => {
  const place = new Place();
  place.store.onRenew = unreachable;
  await place.hold("a", { lease: 900 });
  await place.clock.advance(500);
  assertEquals([place.meter.sum("active"), place.meter.of("faults").length > 0], [1, true]);
});

Deno.test("otel() counts a lock as active no longer when its release fails for good", async () => {
  const place = new Place();
  const lock = await place.hold("a");
  place.store.onRelease = unreachable;
  const releasing = assertRejects(() => lock.release(), Error);
  await place.clock.advance(10_000);
  await releasing;
  assertEquals([place.meter.sum("active"), place.meter.of("hold.duration").length], [0, 0]);
});

Deno.test("otel() takes a lock off active once if its release fails and then succeeds", async () => {
  const place = new Place();
  const lock = await place.hold("a");
  place.store.onRelease = inTurn(unreachable, () => true);
  const releasing = lock.release();
  await place.clock.advance(1_000);
  await releasing;
  assertEquals([place.meter.sum("active"), place.meter.of("hold.duration").length], [0, 1]);
});

Deno.test("otel() counts as active requests only calls that wait", async () => {
  const place = new Place();
  await place.hold("a");
  assertEquals(place.meter.of("request.active"), [], "who does not wait is not counted");
  place.store.onAttempt = () => busy(1_000);
  const waiting = [1, 2].map(() => place.acquire("a", { wait: 500 }));
  const ends = Promise.allSettled(waiting);
  await place.clock.advance(1);
  assertEquals(place.meter.sum("request.active"), 2);
  await place.clock.advance(1_000);
  await ends;
  assertEquals(place.meter.sum("request.active"), 0);
});

Deno.test("otel() counts as contentions calls that find the lock held", async () => {
  const place = new Place();
  await place.hold("a");
  place.store.onAttempt = () => busy(1_000);
  await place.acquire("a", { wait: 0 });
  assertEquals(place.meter.sum("contentions"), 1);
  const timeout = assertRejects(() => place.acquire("a", { wait: 10 }), Error);
  await place.clock.advance(10);
  await timeout;
  assertEquals(place.meter.sum("contentions"), 2);
});

Deno.test("otel() counts no contention for a call that waits for a store that fails", async () => {
  const place = new Place();
  place.store.onAttempt = inTurn(unreachable, () => granted(1n));
  const acquiring = place.acquire("a");
  await place.clock.advance(1_000);
  await acquiring;
  assertEquals([place.meter.of("request.active").length, place.meter.sum("contentions")], [2, 0]);
});

Deno.test("otel() counts faults by operation", async () => {
  const place = new Place();
  place.store.onAttempt = inTurn(unreachable, unreachable, () => granted(1n));
  place.store.onRenew = inTurn(unreachable, () => "renewed");
  place.store.onRelease = inTurn(unreachable, () => true);
  const acquiring = place.acquire("a", { lease: 900 });
  await place.clock.advance(200);
  const lock = await acquiring;
  await place.clock.advance(500);
  const releasing = lock?.release();
  await place.clock.advance(500);
  await releasing;
  const faults = ["attempt", "renew", "release"].map((operation) => place.meter.sum("faults", { operation }));
  assertEquals(faults, [2, 1, 1]);
});

Deno.test("otel() counts the renewals that succeed", async () => {
  const place = new Place();
  place.store.onRenew = inTurn(() => "renewed", unreachable, () => "renewed");
  await place.hold("a", { lease: 900 });
  await place.clock.advance(700);
  assertEquals(place.meter.sum("renewals"), 2);
});

Deno.test("otel() counts an attempt that is not answered as a fault", async () => {
  const place = new Place();
  place.store.onAttempt = hanging;
  const failing = assertRejects(() => place.acquire("a"), StoreError);
  await place.clock.advance(11_000);
  await failing;
  assertEquals(place.meter.sum("faults", { operation: "attempt" }), 1);
});

Deno.test("otel() has the group as the only thing on metrics that a name decides", async () => {
  const place = new Place({ group: (name) => name.split(":")[0] });
  place.store.onAttempt = inTurn(() => busy(10), unreachable, () => granted(1n));
  const acquiring = place.acquire("invoice:42", { lease: 900 });
  await place.clock.advance(1_000);
  await (await acquiring)?.release();
  const group = "invoice";
  assertEquals(place.meter.of("wait.duration")[0]?.attributes, { group, result: "acquired" });
  assertEquals(place.meter.of("hold.duration")[0]?.attributes, { group, end: "released" });
  assertEquals(place.meter.of("faults")[0]?.attributes, { group, operation: "attempt" });
  for (const name of ["active", "request.active", "contentions", "renewals"]) {
    assertEquals(place.meter.of(name)[0]?.attributes, { group }, name);
  }
});

Deno.test("otel() has no attribute of a name on metrics unless it is told the group", async () => {
  const place = new Place();
  place.store.onAttempt = inTurn(() => busy(10), unreachable, () => granted(1n));
  const acquiring = place.acquire("invoice:42", { lease: 900 });
  await place.clock.advance(1_000);
  await (await acquiring)?.release();
  const names = [...place.meter.instruments.keys()].map((name) => name.replace("holdfast.lock.", ""));
  const attributes = names.flatMap((name) => place.meter.of(name)).map(({ attributes }) => JSON.stringify(attributes));
  assert(attributes.length >= 8, "there is one of each");
  assertEquals(attributes.filter((text) => /invoice|group/.test(text)), []);
});

Deno.test("otel() counts without a group what group() throws for, or names with no string", async () => {
  const group = (name: string): string | undefined => {
    if (name === "broken") throw new Error("group");
    return 7 as unknown as string;
  };
  const place = new Place({ group });
  for (const name of ["broken", "other"]) await (await place.hold(name)).release();
  assertEquals(place.meter.of("active").map(({ value }) => value), [1, -1, 1, -1]);
  assertEquals(place.meter.of("active").map(({ attributes }) => attributes), [{}, {}, {}, {}]);
});

Deno.test("otel() takes a lock off the group in which it was counted", async () => {
  let calls = 0;
  const place = new Place({ group: () => `${calls++}` });
  await (await place.hold("a")).release();
  const [up, down] = place.meter.of("active");
  assertEquals([up?.value, down?.value, down?.attributes], [1, -1, up?.attributes]);
});

Deno.test("otel() reports for how long the oldest lock is held and the longest wait lasts", async () => {
  const place = new Place();
  const oldest = () =>
    ["hold.oldest", "wait.oldest"].flatMap((name) => place.meter.observe(name)).map(({ value }) => value);
  assertEquals(oldest(), [0, 0]);
  const first = await place.hold("a", { lease: 100_000 });
  await place.clock.advance(1_000);
  await place.hold("b", { lease: 100_000 });
  place.store.onAttempt = () => busy(60_000);
  const waiting = place.acquire("a", { wait: 5_000 }).catch(() => {});
  await place.clock.advance(2_000);
  assertEquals(oldest(), [3, 2]);
  await first.release();
  assertEquals(oldest(), [2, 2]);
  await place.clock.advance(3_000);
  await waiting;
  assertEquals(oldest(), [5, 0]);
});

Deno.test("otel() reports the oldest lock of each group", async () => {
  const place = new Place({ group: (name) => name.slice(0, 1) });
  for (const name of ["a1", "b1", "a2"]) {
    await place.hold(name, { lease: 100_000 });
    await place.clock.advance(1_000);
  }
  assertEquals(place.meter.observe("hold.oldest"), [
    { value: 3, attributes: { group: "a" } },
    { value: 2, attributes: { group: "b" } },
  ]);
});

Deno.test("otel() counts each beginning and each end of a handle once, if it is told twice", () => {
  const { store: { observer }, meter } = new Place();
  const subject = { name: "a", owner: "h", handle: "h", mode: "exclusive" } as const;
  for (let time = 0; time < 2; time++) observer({ ...subject, type: "waiting" });
  assertEquals([meter.sum("request.active"), meter.sum("contentions")], [1, 1]);
  observer({ ...subject, type: "acquired", fence: 1n, waited: 1 });
  for (let time = 0; time < 2; time++) observer({ ...subject, type: "released", fence: 1n, held: 1 });
  assertEquals([meter.sum("request.active"), meter.sum("active")], [0, 0]);
});

Deno.test("otel() keeps nothing of a call that has ended", () => {
  const { store: { observer }, meter } = new Place();
  const subject = { name: "a", owner: "h", handle: "h", mode: "exclusive" } as const;
  observer({ ...subject, type: "fault", operation: "attempt", error: new Error("store") });
  observer({ ...subject, type: "gave_up", reason: "store", waited: 1 });
  observer({ ...subject, type: "fault", operation: "renew", error: new Error("store") });
  observer({ ...subject, type: "waiting" });
  assertEquals(meter.sum("contentions"), 1);
});

/** Stores whose handles wait in different ways: in the store, in a run, in a cohort, or asking nodes. */
const STORES: Readonly<Record<string, (observer: Observer) => Store>> = {
  memory: (observer) => memory({ observer }),
  "a cohort": (observer) => cohort(memory({ observer })),
  Redlock: (observer) => redlock([memory(), memory(), memory()], { observer }),
};

for (const [what, open] of Object.entries(STORES)) {
  Deno.test(`otel() returns to zero after many calls on ${what} that end in every way`, async () => {
    const meter = new RecordingMeter();
    const store = open(otel({ meter }));
    const calls = Array.from({ length: 300 }, async (_, i) => {
      const name = `n${i % 3}`;
      if (i % 10 === 0) await store.evict?.(name);
      if (i % 4 === 0) return await abortedSoon(store, name, i % 7 + 1);
      if (i % 4 === 1) return await withLock(store, name, { wait: i % 5, strict: false }, () => {});
      if (i % 4 === 2) return await (await tryAcquire(store, name))?.release();
      return await withLock(store, name, () => new Promise<void>((resolve) => setTimeout(resolve, 1)));
    });
    await Promise.allSettled(calls);
    assertEquals([meter.sum("request.active"), meter.sum("active")], [0, 0]);
    assertEquals(meter.of("wait.duration").length, 300);
    assert(meter.of("request.active").length > 0 && meter.of("contentions").length > 0, "some waited");
    await closeCohort(store);
  });
}

/** Disposes of a store that is a cohort. */
async function closeCohort(store: Store): Promise<void> {
  if (Symbol.asyncDispose in store) await (store as Cohort)[Symbol.asyncDispose]();
}

/** Waits for a lock for so many milliseconds at most, until its signal aborts. */
async function abortedSoon(store: Store, name: string, ms: number): Promise<void> {
  const controller = new AbortController();
  const id = setTimeout(() => controller.abort(), ms);
  try {
    await withLock(store, name, { signal: controller.signal }, () => {});
  } finally {
    clearTimeout(id);
  }
}
