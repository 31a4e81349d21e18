import { assert, assertEquals } from "@std/assert";
import { HandoffCohort } from "../../src/cohort/cohort.ts";
import { HandoffStore } from "../../src/handoff/handoff_store.ts";
import { HandoffPlace } from "../../src/handoff/place.ts";
import type { Claim } from "../../src/contract/store.ts";
import { claimOf } from "../support/claims.ts";
import { busy, ScriptedStore } from "../support/scripted_store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";
import { LEASE, leftovers, Noted, pair, scene } from "./noted.ts";

/** Returns what says whether a promise has settled. */
async function hasSettled(promise: Promise<unknown>): Promise<boolean> {
  let has = false;
  promise.then(() => has = true);
  await settled();
  return has;
}

/** A cohort that lingers with a lock whose lease it is about to shorten. */
async function lingering(settings = { keep: 60_000, linger: 10_000 }) {
  const clock = new VirtualClock();
  const store = new Noted(undefined, clock);
  store.revocation = () => new Promise(() => {});
  const cohort = new HandoffCohort(store, clock, settings);
  const claim = (): Claim => claimOf("a", "exclusive", 60_000);
  const first = claim();
  assert((await cohort.attempt(first, { enqueue: true })).granted);
  assert(await cohort.release(first));
  return { clock, store, cohort, claim };
}

/** A handle of a process that holds the lock, and was alone when it attempted, and one that has not attempted. */
async function alone() {
  const all = scene();
  const [first, second] = [claimOf("a"), claimOf("a")];
  assert((await all.here.attempt(first, { enqueue: true })).granted);
  return { ...all, first, second };
}

for (const stopped of [false, true]) {
  Deno.test(`Handoff.wakeup() waits where the store wakes nobody, stopped: ${stopped}`, async () => {
    const clock = new VirtualClock();
    const store = new ScriptedStore(clock);
    store.onAttempt = () => busy(1_000);
    const here = new HandoffStore(store, clock);
    const claim = claimOf("a");
    await here.attempt(claim, { enqueue: true });
    if (stopped) await here.stop();
    const over = new AbortController();
    const woken = here.wakeup(claim, over.signal);
    assert(!await hasSettled(woken), "it would attempt without a pause");
    over.abort();
    assert(await hasSettled(woken));
  });
}

Deno.test("Handoff.revocation() waits where the store tells of none", async () => {
  const clock = new VirtualClock();
  const here = new HandoffStore(new ScriptedStore(clock), clock);
  const claim = claimOf("a");
  assert((await here.attempt(claim, { enqueue: true })).granted);
  const over = new AbortController();
  const revoked = here.revocation(claim, over.signal);
  assert(!await hasSettled(revoked), "the lock would be lost");
  over.abort();
  assert(await hasSettled(revoked));
});

Deno.test("Handoff.evict() of a handle that has handed the lock on evicts nobody", async () => {
  const { here, store, first, second } = await pair();
  assert((await here.attempt(first, { enqueue: true })).granted);
  await here.release(first);
  assert((await here.attempt(second, { enqueue: true })).granted);
  assertEquals(await here.evict!("a", { handle: first.owner }), 0);
  assertEquals(await here.evict!("a", { handle: "another" }), 0);
  assertEquals((await store.query()).held.length, 1, "the second one has it");
  assertEquals(await here.evict!("a", { handle: second.owner }), 1);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff.query() of a page has no waiters of a name that is on another page", async () => {
  const { here, store, first, second } = await pair();
  assert((await here.attempt(first, { enqueue: true })).granted);
  await store.attempt(claimOf("0"), { enqueue: true });
  const { held, pending, cursor } = await here.query!({ limit: 1 });
  assertEquals([held.map(({ name }) => name), pending], [["0"], []]);
  const next = await here.query!({ limit: 1, cursor });
  assertEquals([next.held, next.pending].map((all) => all.map(({ name }) => name)), [["a"], ["a"]]);
  for (const claim of [second, first]) await here.release(claim);
});

Deno.test("Handoff.renew() that comes after a later one sends nothing", async () => {
  const { here, store, first } = await pair();
  assert((await here.attempt(first, { enqueue: true })).granted);
  assertEquals(await here.renew({ ...first, lease: 2 * LEASE, renewal: 2 }), "renewed");
  assertEquals(await here.renew({ ...first, lease: LEASE / 2, renewal: 1 }), "renewed");
  assertEquals(store.renewals.map(({ lease }) => lease), [2 * LEASE]);
});

Deno.test("Handoff.renew() of a handle whose release is not answered gives lost", async () => {
  const { here, store, first, second } = await pair();
  assert((await here.attempt(first, { enqueue: true })).granted);
  await here.release(second);
  store.reply = (call) => call === "release" ? new Promise(() => {}) : undefined;
  void here.release(first);
  await settled();
  assertEquals(await here.renew(first), "lost");
  assertEquals(store.renewals, []);
});

Deno.test("Handoff asks the store for a handle that attempts again after its release", async () => {
  const { clock, here, store, first, second } = await pair();
  assert((await here.attempt(first, { enqueue: true })).granted);
  await here.release(second);
  store.reply = (call) => call === "release" ? Promise.reject(new Error("cut off")) : undefined;
  await here.release(first).catch(() => {});
  store.calls.length = 0;
  store.reply = () => {};
  assert((await here.attempt(first, { enqueue: true })).granted);
  assert(store.calls.includes("attempt"));
  await here.release(first);
  await clock.advance(LEASE);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff is not upset by an attempt that fails after its handle was released", async () => {
  const { clock, here, store, other, first, second } = await pair();
  const answer = Promise.withResolvers<void>();
  store.reply = (call, { owner }) => call === "attempt" && owner === second.owner ? answer.promise : undefined;
  const asking = here.attempt(second, { enqueue: true }).catch((error) => error.message);
  await here.release(second);
  answer.reject(new Error("cut off"));
  assertEquals(await asking, "cut off");
  assert((await here.attempt(first, { enqueue: true })).granted);
  await here.release(first);
  await here.release(other);
  await clock.advance(100);
  assertEquals([here.names, await leftovers(store)], [[], 0]);
});

Deno.test("Handoff keeps a holder whose former attempt is not answered for 12 s", async () => {
  const { clock, here, store, first, second } = await pair();
  store.reply = (call, { owner }) => call === "attempt" && owner === second.owner ? new Promise(() => {}) : undefined;
  void here.attempt(second, { enqueue: true });
  assert((await here.attempt(first, { enqueue: true })).granted);
  await here.release(first);
  assert((await here.attempt(second, { enqueue: true })).granted);
  for (let i = 0; i < 3; i++) {
    await clock.advance(LEASE / 2);
    assertEquals(await here.renew(second), "renewed");
  }
  assertEquals((await here.query!()).held.map(({ handle }) => handle), [second.owner]);
  assert(await here.release(second));
  assertEquals((await store.query()).held, []);
});

Deno.test("Handoff.stop() has calls go to the store, also behind a handle that was alone", async () => {
  const { here, store, first, second } = await alone();
  await here.stop();
  assert(!(await here.attempt(second, { enqueue: true })).granted);
  assertEquals(here.names, []);
  for (const claim of [second, first]) await here.release(claim);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff.stop() ends all that is handed on, also behind a handle that was alone", async () => {
  const { here, store, first, second } = await alone();
  assert(!(await here.attempt(second, { enqueue: true })).granted);
  await here.stop();
  await here.release(second);
  const [third, fourth] = [claimOf("a"), claimOf("a")];
  for (const claim of [third, fourth]) assert(!(await here.attempt(claim, { enqueue: true })).granted);
  await here.release(first);
  assert((await here.attempt(third, { enqueue: true })).granted);
  store.calls.length = 0;
  await here.release(third);
  assertEquals(store.calls, ["release"]);
  assert((await here.attempt(fourth, { enqueue: true })).granted);
  await here.release(fourth);
  assertEquals([here.names, await leftovers(store)], [[], 0]);
});

Deno.test("Handoff keeps no name of a holder that is never released, once its lease is over", async () => {
  const { clock, here, first, second } = await pair();
  assert((await here.attempt(first, { enqueue: true })).granted);
  await here.release(second);
  assertEquals(here.names, ["a"]);
  await clock.advance(LEASE);
  assertEquals([here.names, clock.pending], [[], 0]);
});

Deno.test("HandoffCohort keeps no name of a holder that leaves the lock to its lease", async () => {
  const clock = new VirtualClock();
  const store = new Noted(undefined, clock);
  const cohort = new HandoffCohort(store, clock, { keep: 60_000, linger: 0 }, new HandoffPlace(store));
  const [first, second] = [claimOf("a"), claimOf("a")];
  for (const each of [first, second]) await cohort.attempt(each, { enqueue: true });
  await cohort.release(first);
  assert((await cohort.attempt(second, { enqueue: true })).granted);
  assertEquals([await cohort.renew(second), cohort.names], ["renewed", ["a"]]);
  cohort.forget(second);
  assertEquals([cohort.names, clock.pending, (await store.query()).held.length], [[], 0, 1]);
});

Deno.test("HandoffCohort hears of a revocation while one handle is behind the holder", async () => {
  for (const behind of [0, 1]) {
    const clock = new VirtualClock();
    const heard: string[] = [];
    const store = Object.assign(new Noted(undefined, clock), {
      revocationHeard: ({ owner }: Claim) => void heard.push(owner),
    });
    const cohort = new HandoffCohort(store, clock, { keep: 60_000, linger: 0 }, new HandoffPlace(store));
    const [other, ...handles] = Array.from({ length: 3 + behind }, () => claimOf("a"));
    assert((await store.attempt(other!, { enqueue: true })).granted);
    // The first one is not alone, so that the process has the lock itself.
    for (const claim of handles) await cohort.attempt(claim, { enqueue: true });
    await cohort.release(handles.pop()!);
    await store.release(other!);
    assert((await cohort.attempt(handles[0]!, { enqueue: true })).granted);
    assertEquals(heard, behind === 0 ? [] : [handles[0]!.owner]);
  }
});

Deno.test("HandoffCohort asks the store once a shortening has found its lingering lock lost", async () => {
  const { clock, store, cohort, claim } = await lingering();
  await store.evict("a");
  const rival = claim();
  assert((await store.attempt(rival, { enqueue: false })).granted);
  await clock.advance(2);
  store.calls.length = 0;
  assert(!(await cohort.attempt(claim(), { enqueue: false })).granted);
  assertEquals(store.calls, ["attempt"], "without a renewal");
  await store.release(rival);
  await clock.advance(20_000);
  assertEquals([cohort.names, await leftovers(store), clock.pending], [[], 0, 0]);
});

Deno.test("HandoffCohort lingers until a shortening is answered: a try is granted the lock", async () => {
  for (const settings of [{ keep: 60_000, linger: 10 }, { keep: 10, linger: 10 }]) {
    const { clock, store, cohort, claim } = await lingering(settings);
    const renewed = Promise.withResolvers<void>();
    store.reply = (call) => call === "renew" ? renewed.promise : undefined;
    await clock.advance(11);
    const tries = claim();
    const attempt = cohort.attempt(tries, { enqueue: false });
    renewed.resolve();
    assert((await attempt).granted, "nobody else holds the lock");
    await cohort.release(tries);
    await clock.advance(11);
    assertEquals([cohort.names, await leftovers(store), clock.pending], [[], 0, 0]);
  }
});

Deno.test("HandoffCohort gives back a lock that is renewed for a try, and then not wanted", async () => {
  const { clock, store, cohort, claim } = await lingering();
  await clock.advance(2);
  const renewed = Promise.withResolvers<void>();
  store.reply = (call) => call === "renew" ? renewed.promise : undefined;
  const tries = claim();
  const attempt = cohort.attempt(tries, { enqueue: false });
  await settled();
  const released = cohort.release(tries);
  renewed.resolve();
  assert(!(await attempt).granted);
  await released;
  await clock.advance(20_000);
  assertEquals([cohort.names, await leftovers(store), clock.pending], [[], 0, 0]);
});
