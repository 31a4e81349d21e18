import { assert, assertEquals, assertRejects } from "@std/assert";
import { ask, claimOf, grant, LONG } from "../support/claims.ts";
import type { Claim, Granted, Store } from "@holdfast/lock";
import { LockDocument } from "../../src/engine/document.ts";
import type { FoundDocument } from "../../src/engine/mod.ts";
import { OwnWaiters, type RemoteWaiters } from "../../src/engine/own_waiters.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { heldUp, NAME, Place } from "./controlled_backend.ts";
import { NOW, queueIn } from "./views.ts";

/**
 * Sleeps in `wakeup()`, and returns after how many milliseconds a waiter is woken; `undefined` if it is not for 4 s.
 */
async function wokenAfter(place: Place, store: Store, claim: Claim, cause: () => Promise<void>) {
  const scope = new AbortController();
  let wokenAt: number | undefined;
  const from = place.clock.now().monotonic;
  const sleeping = store.wakeup!(claim, scope.signal).then(() => wokenAt ??= place.clock.now().monotonic);
  await place.clock.advance(0);
  await cause();
  for (let i = 0; wokenAt === undefined && i < 400; i++) await place.clock.advance(10);
  const ms = wokenAt === undefined ? undefined : wokenAt - from;
  scope.abort();
  await sleeping;
  return ms;
}

/** A lock that is held for long, and waiters of two processes, the first one ahead. */
async function queued() {
  const place = new Place();
  const [a, b, c] = [place.connect(), place.connect(), place.connect()];
  const [held, first, second] = [claimOf(NAME, "exclusive", 10 * LONG), claimOf(NAME), claimOf(NAME)];
  await grant(a.store, held);
  await ask(b.store, first);
  await ask(c.store, second);
  return { place, a, b, c, held, first, second };
}

/** Takes a waiter out of the queue, as another process does that declares it dead. */
function strikeOff({ documents }: Place, { owner }: Claim): void {
  const { queue, counter, ...fields } = JSON.parse(documents.texts.get(NAME)!.value);
  const left = queue.filter(({ handle }: { handle: string }) => handle !== owner);
  assert(left.length < queue.length, "it was in the queue");
  documents.set(NAME, JSON.stringify({ ...fields, counter: counter + 1, queue: left }));
}

Deno.test("wakeFor() wakes a sleeping waiter that was struck off", async () => {
  const { place, b, first } = await queued();
  assertEquals(await wokenAfter(place, b.store, first, () => Promise.resolve(strikeOff(place, first))), 0);
  await ask(b.store, first);
  assertEquals(place.handles.queue[0], first.owner);
});

Deno.test("wakeFor() wakes whose turn it is, and nobody else", async () => {
  const { place, a, b, c, held, first, second } = await queued();
  let isAwake = false;
  const scope = new AbortController();
  const asleep = c.store.wakeup(second, scope.signal).then(() => isAwake = true);
  assertEquals(await wokenAfter(place, b.store, first, async () => void await a.store.release(held)), 0);
  assertEquals(isAwake, false);
  scope.abort();
  await asleep;
});

Deno.test("take() lets a member of a run sleep, and forget() leaves nothing of it", async () => {
  const place = new Place();
  const [a, b] = [place.connect(), place.connect()];
  const [held, first, second] = [claimOf(NAME), claimOf(NAME), claimOf(NAME)].map((claim) => ({
    ...claim,
    group: "g",
  }));
  await grant(a.store, held!);
  await ask(b.store, first!);
  await ask(b.store, second!);
  await a.store.release(held!);
  const { granted, run } = await b.store.attempt(first!, { enqueue: true }) as Granted;
  assertEquals([granted, run], [true, [second!.owner]]);
  // It is in the queue no more, and is handed the lock inside its process.
  assertEquals(await wokenAfter(place, b.store, second!, async () => void await b.store.renew(first!)), undefined);
  assertEquals(b.store.knows(second!), true);
  b.store.forget(second!);
  assertEquals(b.store.knows(second!), false);
});

Deno.test("isDue() lets no waiter sleep that was struck off after its attempt", async () => {
  const { place, b, first } = await queued();
  strikeOff(place, first);
  // Its store sees that for another handle, before the waiter listens.
  await ask(b.store, claimOf(NAME), false);
  assertEquals(await wokenAfter(place, b.store, first, () => Promise.resolve()), 0);
});

Deno.test("isDue() lets no waiter sleep whose turn it became after its attempt", async () => {
  const { place, a, b, held, first } = await queued();
  await a.store.release(held);
  await ask(b.store, claimOf(NAME), false);
  assertEquals(await wokenAfter(place, b.store, first, () => Promise.resolve()), 0);
});

Deno.test("owns() takes one that was woken for alive for 1.5 s, and no longer", async () => {
  const { place, a, b, c, held, first, second } = await queued();
  const scope = new AbortController();
  const [woken, asleep] = [b.store.wakeup(first, scope.signal), c.store.wakeup(second, scope.signal)];
  // It has not attempted for longer than a waiter is alive that does not sleep.
  await place.clock.advance(10_000);
  await a.store.release(held);
  await woken;
  // Another call of its process, before it attempts.
  await b.store.release(claimOf(NAME));
  assertEquals(place.handles.queue, [first.owner, second.owner]);
  await place.clock.advance(1_400);
  await b.store.release(claimOf(NAME));
  assertEquals(place.handles.queue, [first.owner, second.owner]);
  await place.clock.advance(100);
  await b.store.release(claimOf(NAME));
  assertEquals(place.handles.queue, [second.owner]);
  scope.abort();
  await asleep;
});

Deno.test("owns() takes one for alive whose attempt is not answered yet", async () => {
  const { place, a, b, c, held, first, second } = await queued();
  await c.store.release(second);
  await a.store.release(held);
  // A read that is lost holds up all calls of its process for 2 s.
  b.backend.onRead = heldUp<FoundDocument<number>>(() => b.backend.onRead = (execute) => execute()).hook;
  const lost = assertRejects(() => b.store.attempt(claimOf(NAME), { enqueue: false }), Error);
  await place.clock.advance(300);
  const [newcomer, attempt] = [claimOf(NAME), first].map((claim) => b.store.attempt(claim, { enqueue: true }));
  await place.clock.advance(1_701);
  await lost;
  assertEquals([(await newcomer!).granted, (await attempt!).granted], [false, true]);
});

Deno.test("wakeAll() wakes all sleeping waiters when a look fails", async () => {
  const { place, b, first, second } = await queued();
  await ask(b.store, second);
  b.backend.onRead = () => Promise.reject(new Error("not now"));
  const scope = new AbortController();
  let awake = 0;
  const sleeping = [first, second].map((claim) => b.store.wakeup(claim, scope.signal).then(() => awake++));
  await place.clock.advance(5_000);
  assertEquals(awake, 2);
  await Promise.all(sleeping);
  await place.clock.advance(5_000);
  assertEquals(place.clock.pending, 0);
});

const REMOTE: RemoteWaiters = { store: "object", graceMs: 2_000, retryAsleepMs: 30_000 };

/** Returns the waiters of a store object, and one of them that waits for so many milliseconds. */
function waiting(left?: number, remote?: RemoteWaiters) {
  const clock = new VirtualClock();
  const waiters = new OwnWaiters(clock, "me", remote);
  const claim = claimOf(NAME);
  return { clock, waiters, claim, waiter: waiters.asks(claim, left) };
}

Deno.test("owns() takes one for dead 1.5 s after it was active, by either clock", () => {
  for (const [ms, set, owned] of [[1_499, 0, true], [1_500, 0, false], [0, 1_500, false], [1_499, -5_000, true]]) {
    const { clock, waiters, claim } = waiting();
    clock.stall(Number(ms));
    clock.setWall(Number(set));
    assertEquals(waiters.owns(claim.owner), owned);
    waiters.notice(claim);
    assertEquals(waiters.owns(claim.owner), true);
  }
});

Deno.test("owns() takes one for alive that sleeps or attempts, however long", () => {
  for (const state of [{ wake: () => {} }, { attempts: 1 }]) {
    const { clock, waiters, claim, waiter } = waiting();
    Object.assign(waiter, state);
    clock.stall(LONG);
    assertEquals(waiters.owns(claim.owner), true);
  }
});

Deno.test("owns() owns no waiter that a run has taken out of the queue, until it is back", () => {
  const { waiters, claim } = waiting();
  const member = { claim, ticket: 3, queuedAt: 7, store: "me" };
  waiters.take([member]);
  assertEquals([waiters.owns(claim.owner), waiters.placeOf(claim)], [false, { ticket: 3, queuedAt: 7 }]);
  waiters.queued(member);
  assertEquals(waiters.owns(claim.owner), true);
});

Deno.test("owns() takes unknown handles for alive while a remote object is new", () => {
  const [here, elsewhere] = [waiting(), waiting(Infinity, REMOTE)];
  const owns = ({ waiters }: { waiters: OwnWaiters }) => [waiters.owns("x"), waiters.owns("x", true)];
  assertEquals([owns(here), owns(elsewhere)], [[false, false], [true, false]]);
  elsewhere.clock.stall(1_999);
  assertEquals(owns(elsewhere), [true, false]);
  elsewhere.clock.stall(1);
  assertEquals(owns(elsewhere), [false, false]);
});

Deno.test("placeOf() is the last place that is known, and not that of an older reply", () => {
  const { waiters, claim } = waiting();
  const at = (ticket: number) => ({ claim, ticket, queuedAt: 0, store: "me" });
  assertEquals(waiters.placeOf(claim), undefined);
  waiters.keepPlace(at(1));
  waiters.keepPlace(at(2));
  assertEquals(waiters.placeOf(claim)?.ticket, 1);
  waiters.queued(at(3));
  assertEquals(waiters.placeOf(claim)?.ticket, 3);
});

Deno.test("succeed() gives the place of one handle to another, and both are alive", () => {
  const { clock, waiters, claim: from } = waiting();
  waiters.queued({ claim: from, ticket: 4, queuedAt: 0, store: "me" });
  clock.stall(LONG);
  const to = claimOf(NAME);
  waiters.succeed(from, to);
  assertEquals(waiters.placeOf(to)?.ticket, 4);
  assertEquals([from, to].map(({ owner }) => waiters.owns(owner)), [true, true]);
});

Deno.test("retryAfter() is 0.5 s, and longer for one that is woken", () => {
  const [here, elsewhere] = [waiting(), waiting(Infinity, REMOTE)];
  const retries = () => [here, elsewhere].map(({ waiters, claim }) => waiters.retryAfter(claim, false));
  assertEquals(retries(), [500, 500]);
  for (const { waiter } of [here, elsewhere]) waiter.usesWakeups = true;
  assertEquals(retries(), [5_000, 30_000]);
});

Deno.test("retryAfter() leaves 0.5 s for the last attempt where no server tells time", () => {
  const { clock, waiters, claim, waiter } = waiting(2_000);
  waiter.usesWakeups = true;
  assertEquals([waiters.retryAfter(claim, false), waiters.retryAfter(claim, true)], [1_500, 5_000]);
  clock.stall(1_500);
  assertEquals(waiters.retryAfter(claim, false), 5_000);
});

Deno.test("isEnding() is true in the last 0.5 s of a wait, by the monotonic clock", () => {
  const { clock, waiters, claim } = waiting(2_000);
  clock.setWall(LONG);
  clock.stall(1_499);
  assertEquals([waiters.isEnding(claim), waiters.leftOf(claim)], [false, 501]);
  clock.stall(1);
  assertEquals([waiters.isEnding(claim), waiters.isEnding(claimOf(NAME))], [true, false]);
  // Each attempt says anew for how long its caller waits.
  waiters.asks(claim, 2_000);
  assertEquals(waiters.isEnding(claim), false);
});

Deno.test("isDue() is true of those that can hold the lock or were struck off", () => {
  const { waiters, claim } = waiting();
  const other = claimOf(NAME);
  const document = new LockDocument();
  const due = () => waiters.isDue(claim, document);
  assertEquals(due(), true);
  queueIn(document, other, "other");
  queueIn(document, claim, "me");
  assertEquals(due(), false);
  document.dequeue(other);
  assertEquals(due(), true);
  waiters.take(document.queue.splice(0));
  assertEquals(due(), false);
});

Deno.test("wakeFor() wakes those that isDue() lets attempt, and no others", () => {
  const { waiters, claim, waiter } = waiting();
  const [document, other] = [new LockDocument(), claimOf(NAME)];
  let woken = 0;
  waiter.wake = () => woken++;
  queueIn(document, other, "other");
  queueIn(document, claim, "me");
  waiters.wakeFor(document);
  assertEquals(woken, 0);
  document.dequeue(other);
  waiters.wakeFor(document);
  assertEquals(woken, 1);
  waiters.take(document.queue.splice(0));
  waiters.wakeFor(document);
  assertEquals(woken, 1);
  waiters.queued({ claim, ticket: 1, queuedAt: 0, store: "me" });
  waiters.wakeFor(document);
  assertEquals(woken, 2);
});

Deno.test("OwnWaiters forgets dead handles of other processes, and none of its own", () => {
  for (const remote of [undefined, REMOTE]) {
    const { clock, waiters } = waiting(Infinity, remote);
    for (let i = 1; i < 2_000; i++) waiters.asks(claimOf(NAME));
    clock.stall(1_500);
    waiters.asks(claimOf(NAME));
    assertEquals(waiters.size, remote === undefined ? 2_001 : 1_001);
  }
});

Deno.test("patienceInQueue() ends for the first waiter after 1 s, for others later", () => {
  const { waiters, claim } = waiting();
  const document = new LockDocument();
  const patience = (ms: number) => waiters.patienceInQueue(document, NOW.wall + ms);
  assertEquals(patience(LONG), Infinity);
  queueIn(document, claim, "me");
  assertEquals([patience(999), patience(1_000)], [Infinity, 0]);
  document.queue.unshift(...Array.from({ length: 2 }, (_, ticket) => (
    { claim: claimOf(NAME), ticket, queuedAt: NOW.wall, store: "other" }
  )));
  assertEquals([patience(2_999), patience(3_000)], [Infinity, 0]);
});
