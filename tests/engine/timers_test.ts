import { assert, assertEquals, assertThrows } from "@std/assert";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { LockTimeoutError, StoreError } from "../../src/contract/errors.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { parseDocument } from "../../src/engine/document.ts";
import { cas } from "../../src/engine/mod.ts";
import type { Claim, Store } from "../../src/contract/store.ts";
import { ask, claimOf, grant } from "../support/claims.ts";
import { warningsOf } from "../support/warnings.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";
import { heldUp, NAME, Place } from "./controlled_backend.ts";
import { Documents, memoryBackend } from "./memory_backend.ts";
import { ControlledTimers, TimerServer } from "./memory_timers.ts";

/** The lease of the holder that died, and how long callers wait, in milliseconds. */
const LEASE = 6_000;
const WAIT = 2_000;

/** How long a timer runs that a caller starts for such a lease, in milliseconds. */
const STARTED = 6_600;

const leased = () => claimOf(NAME, "exclusive", LEASE);
const at = (store: Store, claim: Claim) => store.attempt(claim, { enqueue: false });

/** The timer that the document names for its holder. */
const timerIn = (place: Place) => [...place.document.holders.values()][0]?.timer;

/** Acquires the lock in a process of its own; `undefined` if it is not granted within the wait. */
async function visit(place: Place, wait: number): Promise<Lock | undefined> {
  const settings = checkAcquireOptions({ wait, lease: LEASE, renew: false });
  const call = acquireFrom(place.connect().store, NAME, settings, place.clock).catch((error) => {
    assert(error instanceof LockTimeoutError, String(error));
  });
  await place.clock.advance(wait + 100);
  return await call ?? undefined;
}

/** Lets one caller after the other wait for less than the lease. Returns after how long one is granted the lock. */
async function succeeded(place: Place, wait = WAIT): Promise<number> {
  const since = place.clock.now().monotonic;
  for (;;) {
    const lock = await visit(place, wait);
    const passed = place.clock.now().monotonic - since;
    if (lock === undefined && passed < 60_000) continue;
    assert(lock !== undefined, "granted to nobody");
    await lock.release();
    return passed;
  }
}

/** Lets callers that do not wait want the lock. Returns after how long one is granted it. */
async function taken(place: Place): Promise<number> {
  for (let passed = 0; passed < 60_000; passed += 100) {
    if ((await at(place.connect().store, leased())).granted) return passed;
    await place.clock.advance(100);
  }
  throw new Error("granted to nobody");
}

/** Holds the lock and renews it so many times, a third of the lease apart, on a server with timers. */
async function holding(renewals: number, lease = LEASE) {
  const place = new Place({ timers: true });
  const holder = place.connect();
  const held = claimOf(NAME, "exclusive", lease);
  await grant(holder.store, held);
  for (let i = 0; i < renewals; i++) {
    await place.clock.advance(lease / 3);
    assertEquals(await holder.store.renew(held), "renewed");
    await settled();
  }
  return { place, holder, held };
}

Deno.test("renew() names a timer that lasts for the lease, and clears one that does not", async () => {
  const { place, holder, held } = await holding(1);
  assertEquals([timerIn(place), holder.timers.trips()], [undefined, { starts: 1, asks: 0 }]);
  const seen: unknown[] = [];
  for (let i = 0; i < 4; i++) {
    await place.clock.advance(LEASE / 3);
    await holder.store.renew(held);
    seen.push(timerIn(place));
  }
  assertEquals([seen, holder.timers.trips()], [["t1", undefined, "t2", undefined], { starts: 2, asks: 0 }]);
});

Deno.test("attempt() names a timer of its store that lasts for its lease, not much longer", async () => {
  const { place, holder } = await holding(1);
  await grant(holder.store, claimOf("b", "exclusive", LEASE));
  await grant(holder.store, claimOf("c", "exclusive", LEASE / 2));
  const timers = ["b", "c"].map((name) => {
    const [holder] = parseDocument(name, place.documents.texts.get(name)!.value).holders.values();
    return holder!.timer;
  });
  assertEquals([timers, holder.timers.trips()], [["t1", undefined], { starts: 1, asks: 0 }]);
});

Deno.test("renew() names a timer for as long as it lasts for the lease, less the drift", async () => {
  // What a timer of 9,000 ms has left of its length but for 92 ms.
  for (const [age, named] of [[2_908, "t1"], [2_909, undefined]] as const) {
    const { place, holder, held } = await holding(1);
    place.clock.stall(age);
    await holder.store.renew(held);
    assertEquals([age, timerIn(place)], [age, named]);
  }
});

Deno.test("attempt() leaves a timer that is named, also if its store has one of its own", async () => {
  const { place } = await holding(2);
  const { store, backend, timers } = place.connect();
  const own = claimOf("b", "exclusive", LEASE);
  await grant(store, own);
  await store.renew(own);
  backend.trips();
  assertEquals((await at(store, leased())).granted, false);
  assertEquals([backend.trips(), timers.trips(), timerIn(place)], [
    { reads: 1, writes: 0 },
    { starts: 1, asks: 1 },
    "t1",
  ]);
});

Deno.test("attempt() asks for no timer of a lease that its store has seen to its end", async () => {
  const { place, held } = await holding(2);
  const caller = place.connect();
  assertEquals((await at(caller.store, leased())).granted, false);
  place.clock.stall(2 * LEASE);
  assert((await at(caller.store, leased())).granted);
  assertEquals([caller.timers.trips(), place.handles.holders.includes(held.owner)], [{ starts: 0, asks: 1 }, false]);
});

Deno.test("renew() starts one timer for all locks of a store with the same lease", async () => {
  const { place, holder } = await holding(1);
  const others = ["b", "c"].map((name) => claimOf(name, "exclusive", LEASE));
  for (const claim of others) {
    await grant(holder.store, claim);
    await holder.store.renew(claim);
  }
  assertEquals([holder.timers.starts, place.timerServer!.ends.size], [1, 1]);
});

Deno.test("renew() does not wait for a timer to start, nor start another one meanwhile", async () => {
  const { place, holder, held } = await holding(0);
  holder.timers.onStart = () => new Promise(() => {});
  for (const _ of [1, 2]) assertEquals(await holder.store.renew(held), "renewed");
  assertEquals([holder.timers.starts, timerIn(place)], [1, undefined]);
});

Deno.test("release() leaves no timer behind that is being started", async () => {
  const { place, holder, held } = await holding(0);
  const other = claimOf("b", "exclusive", LEASE);
  await grant(holder.store, other);
  holder.timers.onStart = () => new Promise(() => {});
  for (const claim of [held, other]) await holder.store.renew(claim);
  await holder.store.release(held);
  assertEquals(holder.timers.open, 1, "the other lock needs it");
  await holder.store.release(other);
  assertEquals([holder.timers.open, place.clock.pending], [0, 0]);
});

Deno.test("renew() leaves no timer behind that is being started when the lock is lost", async () => {
  const { place, holder, held } = await holding(0);
  await place.connect().store.evict(NAME);
  holder.timers.onStart = () => new Promise(() => {});
  assertEquals(await holder.store.renew(held), "lost");
  await settled();
  assertEquals([holder.timers.open, place.clock.pending], [0, 0]);
});

Deno.test("attempt() and release() need no timer where nobody else wants the lock", async () => {
  const { holder, held } = await holding(0);
  await holder.store.release(held);
  assertEquals([holder.backend.trips(), holder.timers.trips()], [{ reads: 1, writes: 2 }, { starts: 0, asks: 0 }]);
});

Deno.test("acquire() succeeds a dead holder although all wait for less than its lease", async () => {
  for (const renewals of [0, 1, 2, 3]) {
    const { place } = await holding(renewals);
    const passed = await succeeded(place);
    assert(passed >= LEASE && passed <= 1.5 * LEASE + WAIT + 1_000, `${renewals} renewals: ${passed} ms`);
    assertEquals(place.clock.pending, 0);
  }
});

Deno.test("acquire() succeeds a dead holder although stores that wait ahead died with it", async () => {
  const lease = 12_000;
  for (const dead of [1, 4, 9]) {
    let longest = 0;
    for (let phase = 0; phase < 10; phase++) {
      const { place } = await holding(4, lease);
      const begun = place.clock.now().monotonic;
      for (let i = 0; i < dead; i++) await ask(place.connect().store, leased());
      await place.clock.advance(phase * 1_000);
      const now = () => place.clock.now().monotonic - begun;
      let grantedAt: number | undefined;
      while (grantedAt === undefined) {
        assert(now() < 90_000, "granted to nobody");
        const settings = checkAcquireOptions({ wait: 10_000, lease: 60_000, renew: false });
        const call = acquireFrom(place.connect().store, NAME, settings, place.clock);
        const noted = call.then(() => grantedAt = now(), () => {});
        await place.clock.advance(10_100);
        await noted;
      }
      longest = Math.max(longest, grantedAt);
    }
    // The timer of the lease, two seconds, and a turn of each.
    assert(longest <= 1.5 * lease + 2_000 + dead * 1_500, `${dead} dead: after ${longest} ms`);
  }
});

Deno.test("attempt() that does not wait succeeds a dead holder", async () => {
  for (const renewals of [0, 2]) {
    const { place } = await holding(renewals);
    const passed = await taken(place);
    assert(passed >= LEASE && passed <= 1.5 * LEASE, `${renewals} renewals: ${passed} ms`);
  }
});

Deno.test("attempt() succeeds a holder of a version that knew no timers", async () => {
  const { place } = await holding(2);
  const { texts } = place.documents;
  assert(timerIn(place) !== undefined);
  const { value } = texts.get(NAME)!;
  place.documents.set(NAME, value.replace(/,"timer":"\w+"/, ""));
  assertEquals(timerIn(place), undefined);
  assert(await succeeded(place) <= 1.5 * LEASE);
});

Deno.test("attempt() goes by no clock of a client, however far that is ahead", async () => {
  const { place, holder, held } = await holding(0);
  const ahead = new VirtualClock();
  ahead.setWall(60_000);
  for (let i = 0; i < 30; i++) {
    await place.clock.advance(LEASE / 3);
    ahead.stall(LEASE / 3);
    assertEquals(await holder.store.renew(held), "renewed");
    assertEquals((await at(place.connect({ clock: ahead }).store, leased())).granted, false);
  }
});

Deno.test("attempt() names a timer together with its place in the queue", async () => {
  const { place } = await holding(0);
  const { store, backend, timers } = place.connect();
  const claim = leased();
  assertEquals((await store.attempt(claim, { enqueue: true, left: WAIT })).granted, false);
  assertEquals([backend.trips(), timers.trips()], [{ reads: 1, writes: 1 }, { starts: 1, asks: 0 }]);
  assertEquals([timerIn(place), place.document.queue.length], ["t1", 1]);
});

Deno.test("attempt() starts no timer where its caller can see the whole lease", async () => {
  const { place } = await holding(0);
  const { store, timers } = place.connect();
  await store.attempt(leased(), { enqueue: true, left: 60_000 });
  assertEquals([timers.trips(), timerIn(place)], [{ starts: 0, asks: 0 }, undefined]);
});

Deno.test("attempt() asks once in 500 ms however often it is called", async () => {
  const { place } = await holding(2);
  const { store, timers } = place.connect();
  for (let i = 0; i < 50; i++) {
    assertEquals((await at(store, leased())).granted, false);
    place.clock.stall(20);
  }
  assertEquals(timers.trips(), { starts: 0, asks: 2 });
});

Deno.test("wakeup() looks at the timers once a second until the holder renews", async () => {
  const { place, holder, held } = await holding(2);
  const { store, backend, timers } = place.connect();
  const [waiter, scope] = [leased(), new AbortController()];
  await ask(store, waiter);
  const asleep = store.wakeup(waiter, scope.signal);
  backend.trips();
  await place.clock.advance(1_999);
  assertEquals([timers.trips(), backend.trips()], [{ starts: 0, asks: 2 }, { reads: 1, writes: 0 }]);
  await holder.store.renew(held);
  await settled();
  timers.trips();
  await place.clock.advance(LEASE / 3);
  assertEquals(timers.trips(), { starts: 0, asks: 0 });
  scope.abort();
  await asleep;
});

Deno.test("wakeup() looks the more rarely the more stores wait ahead, but for short waits", async () => {
  const { place } = await holding(2, 30_000);
  const scope = new AbortController();
  const crowd: ReturnType<Place["connect"]>[] = [];
  const queue = async (process: ReturnType<Place["connect"]>, left?: number) => {
    const waiter = leased();
    await process.store.attempt(waiter, { enqueue: true, left });
    void process.store.wakeup(waiter, scope.signal);
  };
  for (let i = 0; i < 10; i++) {
    const process = place.connect();
    for (let handle = 0; handle < 3; handle++) await queue(process);
    crowd.push(process);
  }
  const hasty = place.connect();
  await queue(hasty, 25_000);
  const all = [...crowd, hasty];
  for (const { timers, backend } of all) {
    timers.trips();
    backend.trips();
  }
  await place.clock.advance(15_001);
  const [asks, reads] = [all.map(({ timers }) => timers.asks), all.map(({ backend }) => backend.reads)];
  for (const [first, second, ...others] of [asks, reads]) {
    assert(first! >= 13 && second! >= 6 && second! <= 8, `${asks}, ${reads}`);
    // As often as the document is read in any case.
    assert(others.slice(2, -1).every((count) => count >= 2 && count <= 4), `${asks}, ${reads}`);
    assert(others.at(-1)! >= 13, `${asks}, ${reads}`);
  }
  scope.abort();
  await settled();
});

Deno.test("wakeup() of a crowd starts a timer in the order of the queue, so that one does", async () => {
  const { place } = await holding(0);
  const scope = new AbortController();
  const crowd: ControlledTimers[] = [];
  for (const waiter of [leased(), leased(), leased()]) {
    const { store, timers } = place.connect();
    await ask(store, waiter);
    void store.wakeup(waiter, scope.signal);
    crowd.push(timers);
  }
  assertEquals(timerIn(place), undefined);
  await place.clock.advance(3_500);
  assertEquals([crowd.map(({ starts }) => starts), timerIn(place)], [[1, 0, 0], "t1"]);
  scope.abort();
  await settled();
  assertEquals(place.clock.pending, 0);
});

Deno.test("attempt() asks for no timer of what its store has seen begin", async () => {
  const { place, holder, held } = await holding(2);
  const { store, timers } = place.connect();
  await at(store, leased());
  assertEquals(timers.trips(), { starts: 0, asks: 1 });
  await holder.store.renew(held);
  await at(store, leased());
  assertEquals(timers.trips(), { starts: 0, asks: 0 });
});

Deno.test("attempt() that finds a turn which is not taken names a timer for it", async () => {
  const { place, holder, held } = await holding(0);
  const dead = place.connect().store;
  await ask(dead, leased());
  await holder.store.release(held);
  const passed = await taken(place);
  assert(passed >= 1_500 && passed <= 2_500, `${passed} ms`);
});

Deno.test("attempt() names a timer only if a lease is left when its start is confirmed", async () => {
  const { place } = await holding(0);
  const { store, timers } = place.connect();
  timers.onStart = async (execute) => {
    const name = await execute();
    // Longer than it is spared for.
    place.clock.stall(700);
    return name;
  };
  assertEquals((await at(store, leased())).granted, false);
  assertEquals(timerIn(place), undefined);
  timers.onStart = (execute) => execute();
  place.clock.stall(500);
  assertEquals((await at(store, leased())).granted, false);
  assertEquals(timerIn(place), "t2");
});

Deno.test("attempt() counts a timer by whichever clock of its process has moved further", async () => {
  for (const move of [(clock: VirtualClock) => clock.setWall(700), (clock: VirtualClock) => clock.stall(700)]) {
    const { place } = await holding(0);
    const clock = new VirtualClock();
    const { store, timers } = place.connect({ clock });
    timers.onStart = async (execute) => {
      const name = await execute();
      move(clock);
      return name;
    };
    await at(store, leased());
    assertEquals(timerIn(place), undefined);
  }
});

Deno.test("attempt() names no timer over a renewal that it has not seen", async () => {
  const { place, holder, held } = await holding(0);
  const late = place.connect();
  const { hook, request } = heldUp<Awaited<ReturnType<typeof late.backend.write>>>(() => {
    late.backend.onWrite = (execute) => execute();
  });
  late.backend.onWrite = hook;
  void at(late.store, leased()).catch(() => {});
  const { execute } = await request;
  await place.clock.advance(LEASE / 3);
  await holder.store.renew(held);
  assertEquals([(await execute()).written, timerIn(place)], [false, undefined]);
});

Deno.test("attempt() does not end a lease that was renewed while it asked about the timer", async () => {
  const { place, holder, held } = await holding(2);
  const caller = place.connect();
  const named = timerIn(place)!;
  // The caller reads the document; the holder renews; then the old timer ends, and the caller hears of that.
  caller.timers.onAsk = async (execute) => {
    place.clock.stall(1_500);
    await holder.store.renew(held);
    assert(timerIn(place) !== named);
    place.timerServer!.ends.set(named, 0);
    return await execute();
  };
  const call = at(caller.store, leased());
  await settled();
  await place.clock.advance(1_000);
  assertEquals([(await call).granted, place.handles.holders], [false, [held.owner]]);
});

Deno.test("attempt() replaces a timer of which the server knows nothing", async () => {
  const { place } = await holding(2);
  const { store, timers } = place.connect();
  timers.onAsk = () => Promise.resolve([undefined]);
  assertEquals((await at(store, leased())).granted, false);
  assertEquals([timers.trips(), timerIn(place)], [{ starts: 1, asks: 1 }, "t2"]);
});

Deno.test("attempt() is busy while the server does not answer for its timers, and says so", async () => {
  for (const renewals of [0, 2]) {
    const { place } = await holding(renewals);
    const { store, timers } = place.connect();
    timers.onAsk = () => new Promise(() => {});
    timers.onStart = () => new Promise(() => {});
    const call = at(store, leased());
    await place.clock.advance(2_000);
    assertEquals((await call).granted, false);
    await settled();
    assertEquals([timers.open, place.clock.pending], [0, 0]);
  }
});

Deno.test("attempt() warns once that timers are refused, but not when the client was closed", async () => {
  const { place } = await holding(0);
  const warnings = await warningsOf(async () => {
    for (const [closed, message] of [[true, "closed"], [false, "denied"], [false, "denied again"]] as const) {
      const { store, backend, timers } = place.connect();
      Object.assign(backend, { closed });
      timers.onStart = () => Promise.reject(new StoreError(message, { permanent: true }));
      assertEquals((await at(store, leased())).granted, false);
    }
  });
  assertEquals(warnings, ["Callers that wait for less than a lease do not succeed dead holders: denied"]);
});

Deno.test("renew() does not wait for a caller that asks about timers", async () => {
  const { place, holder, held } = await holding(0);
  const { store, timers } = place.connect();
  const own = claimOf(NAME, "shared", LEASE);
  await holder.store.release(held);
  await grant(holder.store, claimOf(NAME, "shared", LEASE));
  await grant(store, own);
  timers.onStart = () => new Promise(() => {});
  const call = at(store, leased());
  await settled();
  assertEquals(await store.renew(own), "renewed");
  await place.clock.advance(2_000);
  await call;
});

Deno.test("attempt() calls that wait for timers keep their order", async () => {
  const { place } = await holding(0);
  const { store, timers } = place.connect();
  const started = Promise.withResolvers<void>();
  timers.onStart = async (execute) => {
    await started.promise;
    return await execute();
  };
  const [first, second] = [leased(), leased()];
  const calls = [store.attempt(first, { enqueue: true, left: WAIT })];
  await settled();
  calls.push(store.attempt(second, { enqueue: true }));
  await settled();
  started.resolve();
  await Promise.all(calls);
  assertEquals(place.handles.queue, [first.owner, second.owner]);
});

Deno.test("attempt() starts a timer for the lease of the holder, not for its own", async () => {
  const { place } = await holding(0);
  await at(place.connect().store, claimOf(NAME, "exclusive", 60_000));
  assertEquals(place.timerServer!.ends.get("t1")! - place.clock.now().monotonic, STARTED);
});

Deno.test("cas() refuses maxClockSkew where the server has timers, and half of them", () => {
  const timers = new ControlledTimers(new TimerServer(new VirtualClock()));
  const backend = { ...memoryBackend(new Documents()), timers };
  assertThrows(
    () => cas(backend, { maxClockSkew: 0 }),
    TypeError,
    "maxClockSkew must be left out: timers of the server",
  );
  cas(backend, { maxClockSkew: undefined });
  const half = { ...backend, timers: { start: () => Promise.resolve("t") } as never };
  assertThrows(() => cas(half), TypeError, "backend.timers.areOver must be a function: got undefined");
});
