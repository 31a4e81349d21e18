import { assert, assertEquals } from "@std/assert";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { LockTimeoutError } from "../../src/contract/errors.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import type { WriteResult } from "../../src/engine/mod.ts";
import type { Store } from "../../src/contract/store.ts";
import { ask, claimOf, grant } from "../support/claims.ts";
import { heldUp, NAME, Place } from "./controlled_backend.ts";

/** The lease of the holder that died, and how long callers wait, in milliseconds. */
const LEASE = 6_000;
const WAIT = 2_000;

/** When the lease is over by the written end, as far as clocks may be apart, in milliseconds. */
const OVER = LEASE + 10_000;

/** Acquires the lock, in milliseconds that pass meanwhile; `undefined` if it is not granted. */
async function acquired(place: Place, store: Store, wait = WAIT): Promise<Lock | undefined> {
  const settings = checkAcquireOptions({ wait, lease: LEASE, renew: false });
  const call = acquireFrom(store, NAME, settings, place.clock).catch((error) => {
    assert(error instanceof LockTimeoutError, String(error));
  });
  await place.clock.advance(wait + 2_000);
  return await call ?? undefined;
}

/** Begins a server on which a holder has died so many milliseconds ago. */
async function deserted(ago: number, options?: ConstructorParameters<typeof Place>[0]): Promise<Place> {
  const place = new Place(options);
  await grant(place.connect().store, claimOf(NAME, "exclusive", LEASE));
  await place.clock.advance(ago);
  return place;
}

Deno.test("acquire() succeeds a killed holder although all wait for less than its lease", async () => {
  const place = await deserted(0);
  const since = place.clock.now().monotonic;
  let lock: Lock | undefined;
  const passed = () => place.clock.now().monotonic - since;
  while (lock === undefined && passed() < 45_000) lock = await acquired(place, place.connect().store);
  assert(lock !== undefined, "granted to nobody");
  // The one that has granted it came before, and ended after that moment.
  assert(passed() >= OVER && passed() <= OVER + 2 * (WAIT + 2_000), `${passed()} ms`);
  await lock.release();
  assertEquals([place.handles.queue, place.clock.pending], [[], 0]);
});

Deno.test("attempt() goes by the written end in the last 500 ms of a wait, and not before", async () => {
  const place = await deserted(OVER + 1_000);
  const { store } = place.connect();
  const claim = claimOf(NAME);
  const attempt = (left?: number) => store.attempt(claim, { enqueue: true, left });
  assertEquals(await attempt(), { granted: false, retryAfter: 500 });
  assertEquals(await attempt(700), { granted: false, retryAfter: 200 });
  await place.clock.advance(199);
  assertEquals((await attempt(501)).granted, false);
  assert((await attempt(500)).granted);
});

Deno.test("attempt() at the end of a wait leaves maxClockSkew after a written end", async () => {
  const place = await deserted(OVER - 2);
  const attempt = (store: Store) => store.attempt(claimOf(NAME), { enqueue: false, left: 0 });
  assertEquals((await attempt(place.connect().store)).granted, false);
  await place.clock.advance(10_000);
  assertEquals((await attempt(place.connect({ maxClockSkew: Infinity }).store)).granted, false);
});

Deno.test("attempt() at the end of a wait gives the turn to the waiter before it", async () => {
  const place = await deserted(OVER + 1_000);
  const [first, second] = [place.connect().store, place.connect().store];
  const [head, late] = [claimOf(NAME), claimOf(NAME)];
  await ask(first, head);
  assertEquals((await second.attempt(late, { enqueue: true, left: 100 })).granted, false);
  assertEquals([place.document.turn?.handle, place.handles], [head.owner, {
    holders: [],
    queue: [head.owner, late.owner],
  }]);
  assert((await first.attempt(head, { enqueue: true, left: 60_000 })).granted);
});

Deno.test("acquire() asks at the end of its wait only where the server has no clock", async () => {
  for (const { server, reads } of [{ server: {}, reads: 3 }, { server: { ahead: 0 }, reads: 2 }]) {
    const place = new Place(server);
    await grant(place.connect().store, claimOf(NAME));
    const { store, backend } = place.connect();
    assertEquals(await acquired(place, store), undefined);
    assertEquals({ server, reads: backend.reads }, { server, reads });
  }
});

Deno.test("acquire() is granted to one of two whose waits end together", async () => {
  const place = await deserted(OVER + 1_000);
  const calls = [1, 2].map(() => acquired(place, place.connect().store));
  const locks = (await Promise.all(calls)).filter((lock) => lock !== undefined);
  assertEquals(locks.length, 1);
  assertEquals(place.handles, { holders: place.handles.holders.slice(0, 1), queue: [] });
});

Deno.test("acquire() leaves nothing behind when the reply to its last attempt is lost", async () => {
  const place = await deserted(OVER + 1_000);
  const { store, backend } = place.connect();
  const left = claimOf(NAME);
  await ask(store, left);
  backend.onWrite = async (execute) => {
    backend.onWrite = (execute) => execute();
    await execute();
    throw new Error("the reply is lost");
  };
  await store.attempt(left, { enqueue: true, left: 100 }).catch(() => {});
  assertEquals(place.handles, { holders: [left.owner], queue: [] });
  // As a call does whose wait is over.
  await store.release(left);
  assertEquals(place.handles, { holders: [], queue: [] });
});

Deno.test("attempt() at the end of a wait ends no other lock a minute later, nor twice", async () => {
  const place = await deserted(OVER + 1_000);
  const { store, backend } = place.connect();
  const waiter = claimOf(NAME);
  await ask(store, waiter);
  const { hook, request } = heldUp<WriteResult<number>>(() => backend.onWrite = (execute) => execute());
  backend.onWrite = hook;
  const ended = store.attempt(waiter, { enqueue: true, left: 100 }).catch(() => {});
  const { execute } = await request;
  place.clock.stall(60_000);
  await place.clock.advance(5_000);
  await ended;
  await store.release(waiter);
  const next = claimOf(NAME);
  await grant(place.connect().store, next);
  for (const _ of [1, 2]) assertEquals((await execute()).written, false);
  assertEquals(place.handles, { holders: [next.owner], queue: [] });
});
