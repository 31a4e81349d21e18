import { assert, assertEquals } from "@std/assert";
import { ask, claimOf, grant, LONG } from "../support/claims.ts";
import { NAME, Place } from "./controlled_backend.ts";

const REMOTE = { store: "one", graceMs: 3_000, retryAsleepMs: 60_000 };

/** A lock that is held, with a waiter; the store object that was asked for both has ended. */
async function afterRestart() {
  const place = new Place({ ahead: 0 });
  const before = place.connect({ remote: REMOTE }).store;
  const [held, waiting] = [claimOf(NAME, "exclusive", LONG), claimOf(NAME, "exclusive", LONG)];
  await grant(before, held);
  await ask(before, waiting);
  return { place, held, waiting, store: place.connect({ remote: REMOTE }).store };
}

Deno.test("CasStore with remote handles keeps the silent waiters of one before it", async () => {
  const { place, waiting, store } = await afterRestart();
  await store.look(NAME);
  await place.clock.advance(REMOTE.graceMs - 1);
  await store.look(NAME);
  assertEquals(place.handles.queue, [waiting.owner]);
});

Deno.test("CasStore with remote handles strikes off those that stay silent", async () => {
  const { place, store } = await afterRestart();
  await store.look(NAME);
  await place.clock.advance(REMOTE.graceMs);
  await store.look(NAME);
  assertEquals(place.handles.queue, []);
});

Deno.test("CasStore with remote handles keeps those that sleep, at their places", async () => {
  const { place, held, waiting, store } = await afterRestart();
  const late = claimOf(NAME, "exclusive", LONG);
  await ask(store, late);
  await ask(store, waiting);
  const scope = new AbortController();
  const woken = [late, waiting].map((claim) => store.wakeup(claim, scope.signal));
  await place.clock.advance(10 * REMOTE.graceMs);
  assertEquals(place.handles.queue, [waiting.owner, late.owner]);
  await store.release(held);
  await woken[1];
  scope.abort();
  await Promise.all(woken);
});

Deno.test("CasStore.knows() a handle that has asked this store object, and no other", async () => {
  const { waiting, store } = await afterRestart();
  assert(!store.knows(waiting));
  await ask(store, waiting);
  assert(store.knows(waiting));
});

Deno.test("CasStore with remote handles lets one that has slept rest until it is woken", async () => {
  const { waiting, store } = await afterRestart();
  assertEquals(await store.attempt(waiting, { enqueue: true }), { granted: false, retryAfter: 500 });
  const scope = new AbortController();
  const asleep = store.wakeup(waiting, scope.signal);
  scope.abort();
  await asleep;
  assertEquals(await store.attempt(waiting, { enqueue: true }), { granted: false, retryAfter: REMOTE.retryAsleepMs });
});

Deno.test("CasStore with remote handles forgets those that have died without a release", async () => {
  const place = new Place({ ahead: 0 });
  const { store } = place.connect({ remote: REMOTE });
  await grant(store, claimOf(NAME, "exclusive", LONG));
  const dead = Array.from({ length: 2_001 }, () => claimOf(NAME));
  for (const claim of dead) {
    await ask(store, claim);
    await place.clock.advance(1);
  }
  assertEquals([store.knows(dead[0]!), store.knows(dead.at(-1)!)], [false, true]);
});

Deno.test("CasStore.look() ends a lease that is over", async () => {
  const place = new Place({ ahead: 0 });
  const { store } = place.connect();
  await grant(store, claimOf(NAME, "exclusive", 1_000));
  await store.look(NAME);
  assertEquals(place.handles.holders.length, 1);
  await place.clock.advance(2_000);
  await store.look(NAME);
  assertEquals(place.handles.holders, []);
});

Deno.test("CasStore with remote handles keeps a place while nobody could take a turn", async () => {
  const { place, held, waiting } = await afterRestart();
  await place.connect({ remote: REMOTE }).store.release(held);
  await place.clock.advance(1_600);
  // The call of a newcomer starts the store object anew; the one that waited asks again within its grace.
  const store = place.connect({ remote: REMOTE }).store;
  assertEquals((await store.attempt(claimOf(NAME), { enqueue: true })).granted, false);
  await place.clock.advance(REMOTE.graceMs - 1);
  assertEquals((await store.attempt(waiting, { enqueue: true })).granted, true);
});
