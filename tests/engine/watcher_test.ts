import { assert, assertEquals } from "@std/assert";
import { ask, claimOf, grant, LONG } from "../support/claims.ts";
import type { FoundDocument } from "../../src/engine/mod.ts";
import type { ControlledBackend } from "./controlled_backend.ts";
import { type Hook, NAME, Place } from "./controlled_backend.ts";

type Watch = NonNullable<ControlledBackend["watch"]>;

/**
 * Returns how long after the release of a lock its waiter is woken, in milliseconds, and how much was read meanwhile.
 */
async function wokenAfter(
  watch: Watch,
): Promise<{ readonly ms: number; readonly reads: number; readonly left: number }> {
  const place = new Place();
  const [holder, waiter] = [place.connect(), place.connect({ watch })];
  const [held, waiting] = [claimOf(NAME), claimOf(NAME)];
  await grant(holder.store, held);
  await ask(waiter.store, waiting);
  const scope = new AbortController();
  const from = place.clock.now().monotonic;
  let wokenAt: number | undefined;
  const woken = waiter.store.wakeup(waiting, scope.signal).then(() => wokenAt = place.clock.now().monotonic);
  await place.clock.advance(2_000);
  const { reads } = waiter.backend.trips();
  assertEquals(wokenAt, undefined);
  await holder.store.release(held);
  for (let i = 0; wokenAt === undefined && i < 1_000; i++) await place.clock.advance(10);
  scope.abort();
  await woken;
  await place.clock.advance(0);
  return { ms: wokenAt! - from - 2_000, reads, left: place.clock.pending };
}

const USELESS: readonly (readonly [what: string, watch: Watch])[] = [
  ["rejects", () => Promise.reject(new Error("no watches today"))],
  ["throws at once", () => {
    throw new Error("not connected");
  }],
  ["resolves at once", () => Promise.resolve()],
];

for (const [what, watch] of USELESS) {
  Deno.test(`WatchedLock wakes within 500 ms, and reads little, if each watch ${what}`, async () => {
    const { ms, reads, left } = await wokenAfter(watch);
    assert(ms <= 500, `${ms} ms`);
    assert(reads < 30, `${reads} reads`);
    assertEquals(left, 0);
  });
}

/** Returns whether a waiter is woken at once, of whose watches the first ones so many were in vain. */
async function isWokenAtOnce(vain: number, meanwhile = (_: ReturnType<Place["connect"]>) => Promise.resolve()) {
  const place = new Place();
  const [holder, waiter] = [place.connect(), place.connect()];
  const watch = waiter.backend.watch!;
  let left = vain;
  waiter.backend.watch = async (...watched) => left-- > 0 ? undefined : await watch(...watched);
  const [held, waiting] = [claimOf(NAME), claimOf(NAME)];
  await grant(holder.store, held);
  await ask(waiter.store, waiting);
  const scope = new AbortController();
  let isAwake = false;
  const woken = waiter.store.wakeup(waiting, scope.signal).then(() => isAwake = true);
  await place.clock.advance(1_000);
  await meanwhile(waiter);
  await place.clock.advance(0);
  await holder.store.release(held);
  await place.clock.advance(0);
  const wasWoken = isAwake;
  scope.abort();
  await woken;
  return wasWoken;
}

Deno.test("WatchedLock wakes at once although its last watch was in vain", async () => {
  assert(await isWokenAtOnce(1));
});

Deno.test("WatchedLock wakes at once after a write of its store, even after vain watches", async () => {
  assert(!await isWokenAtOnce(2));
  assert(await isWokenAtOnce(2, async ({ store }) => void await ask(store, claimOf(NAME))));
});

Deno.test("WatchedLock wakes at once if the document changes", async () => {
  const place = new Place();
  const [holder, waiter] = [place.connect(), place.connect()];
  const [held, waiting] = [claimOf(NAME, "exclusive", LONG), claimOf(NAME)];
  await grant(holder.store, held);
  await ask(waiter.store, waiting);
  const woken = waiter.store.wakeup(waiting, AbortSignal.timeout(LONG));
  await place.clock.advance(30_000);
  await holder.store.release(held);
  await woken;
  assertEquals(place.clock.pending, 0);
});

/** Returns how many reads holders of so many locks send that watch for revocation for 30 s. */
async function readsOfHolders(locks: number, onRead: Hook<FoundDocument<number>>, watch?: Watch): Promise<number> {
  const place = new Place({ watches: false });
  const { store, backend } = place.connect(watch === undefined ? {} : { watch });
  const claims = Array.from({ length: locks }, (_, i) => claimOf(`${NAME}${i}`, "exclusive", LONG));
  for (const claim of claims) await grant(store, claim);
  backend.onRead = onRead;
  backend.trips();
  const scope = new AbortController();
  const watches = claims.map((claim) => store.revocation(claim, scope.signal));
  for (let i = 0; i < 300; i++) await place.clock.advance(100);
  const { reads } = backend.trips();
  scope.abort();
  await Promise.all(watches);
  return reads;
}

Deno.test("WatchedLock reads once a second for a holder", async () => {
  const reads = await readsOfHolders(1, (execute) => execute());
  assert(reads >= 29 && reads <= 30, `${reads} reads`);
});

Deno.test("WatchedLock reads once a second for a holder whose watch fails, or is in vain", async () => {
  for (const watch of [() => Promise.reject(new Error("no watch for holders")), () => Promise.resolve()]) {
    const reads = await readsOfHolders(1, (execute) => execute(), watch);
    assert(reads >= 29 && reads <= 31, `${reads} reads`);
  }
});

Deno.test("WatchedLock tells a watch whether a waiter waits", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  const watch = backend.watch!;
  const told: boolean[] = [];
  backend.watch = (...args) => (told.push(args[3].isWaited), watch(...args));
  const [held, waiting] = [claimOf(NAME, "exclusive", LONG), claimOf(NAME)];
  await grant(store, held);
  const scopes = [new AbortController(), new AbortController()];
  const watches = [store.revocation(held, scopes[0]!.signal)];
  await place.clock.advance(0);
  await ask(store, waiting);
  watches.push(store.wakeup(waiting, scopes[1]!.signal));
  await place.clock.advance(0);
  assertEquals([told[0], told.at(-1)], [false, true]);
  for (const scope of scopes) scope.abort();
  await Promise.all(watches);
  await place.clock.advance(0);
  assertEquals(place.clock.pending, 0);
});

Deno.test("WatchedLock reads 100 times a second for the holders of 1,000 locks", async () => {
  const reads = await readsOfHolders(1_000, (execute) => execute());
  assert(reads >= 2_000 && reads <= 3_000, `${reads} reads`);
});

Deno.test("WatchedLock does not read more often for holders if no answer comes", async () => {
  const reads = await readsOfHolders(1_000, () => new Promise(() => {}));
  assert(reads > 1_000 && reads <= 3_000, `${reads} reads`);
});

Deno.test("WatchedLock wakes a waiter within 500 ms beside 1,000 locks of holders", async () => {
  const place = new Place({ watches: false });
  const [holder, { store }] = [place.connect(), place.connect()];
  const [held, waiting] = [claimOf(NAME, 2, LONG), claimOf(NAME, 2)];
  const claims = Array.from({ length: 1_000 }, (_, i) => claimOf(i === 0 ? NAME : `${NAME}${i}`, 2, LONG));
  await grant(holder.store, held);
  for (const claim of claims) await grant(store, claim);
  const scope = new AbortController();
  const watches = claims.map((claim) => store.revocation(claim, scope.signal));
  await place.clock.advance(0);
  await ask(store, waiting);
  await place.clock.advance(0);
  let isAwake = false;
  const woken = store.wakeup(waiting, scope.signal).then(() => isAwake = true);
  await place.clock.advance(1_000);
  assert(!isAwake);
  await holder.store.release(held);
  for (let i = 0; !isAwake && i < 50; i++) await place.clock.advance(10);
  const wasWoken = isAwake;
  scope.abort();
  await Promise.all([woken, ...watches]);
  assert(wasWoken);
});

/** Returns a place with a lock that is held, and a waiter whose watches say what is there. */
async function toldWaiter() {
  const place = new Place();
  const [holder, other, waiter] = [place.connect(), place.connect(), place.connect()];
  const watch = waiter.backend.watch!;
  let tell = () => place.documents.found(NAME);
  waiter.backend.watch = async (key, version, signal, options) => {
    await watch(key, version, signal, options);
    return tell();
  };
  const [held, waiting] = [claimOf(NAME, "exclusive", 1_000_000), claimOf(NAME)];
  await grant(holder.store, held);
  await ask(waiter.store, waiting);
  const scope = new AbortController();
  let isAwake = false;
  const woken = waiter.store.wakeup(waiting, scope.signal).then(() => isAwake = true);
  await place.clock.advance(0);
  waiter.backend.trips();
  return {
    place,
    ...{ holder, other, waiter, held, waiting },
    tells: (what: typeof tell) => tell = what,
    isAwake: () => isAwake,
    [Symbol.asyncDispose]: async () => {
      scope.abort();
      await woken;
      assertEquals(place.clock.pending, 0);
    },
  };
}

Deno.test("WatchedLock reads nothing if a watch says what is there", async () => {
  await using told = await toldWaiter();
  await told.holder.store.release(told.held);
  await told.place.clock.advance(0);
  assert(told.isAwake());
  await grant(told.waiter.store, told.waiting);
  assertEquals(told.waiter.backend.trips(), { reads: 0, writes: 1 });
});

Deno.test("WatchedLock finds what is there if a watch says what was there before", async () => {
  await using told = await toldWaiter();
  const before = told.place.documents.found(NAME);
  told.tells(() => before);
  await told.holder.store.release(told.held);
  for (let i = 0; !told.isAwake() && i < 50; i++) await told.place.clock.advance(10);
  assert(told.isAwake());
});

Deno.test("WatchedLock has one watch of the backend open at a time, and none in the end", async () => {
  const place = new Place();
  const [holder, waiter] = [place.connect(), place.connect()];
  let [open, most] = [0, 0];
  const watch = waiter.backend.watch!;
  waiter.backend.watch = async (...args) => {
    most = Math.max(most, ++open);
    return await watch(...args).finally(() => open--);
  };
  const [held, waiting] = [claimOf(NAME, "exclusive", 10 * LONG), claimOf(NAME)];
  await grant(holder.store, held);
  await ask(waiter.store, waiting);
  const scope = new AbortController();
  const woken = waiter.store.wakeup(waiting, scope.signal);
  for (let i = 0; i < 60; i++) {
    await place.clock.advance(1_000);
    if (i === 20) await holder.store.renew(held);
  }
  // One ends as the next one begins.
  assertEquals([open, most <= 2], [1, true]);
  scope.abort();
  await woken;
  await place.clock.advance(0);
  assertEquals([open, place.clock.pending], [0, 0]);
});
