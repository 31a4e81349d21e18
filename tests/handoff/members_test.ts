import { assert, assertEquals, assertRejects } from "@std/assert";
import type { HandoffStore } from "../../src/handoff/handoff_store.ts";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { LockLostError, StoreError } from "../../src/contract/errors.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import type { Attempt, Claim } from "../../src/contract/store.ts";
import { LEASE, leftovers, pair, row, scene } from "./noted.ts";

Deno.test("Handoff hands a lock on without a call of the store", async () => {
  const { store, waiters } = await row(4);
  const fences: bigint[] = [];
  for (const waiter of waiters) {
    const lock = await waiter;
    fences.push(lock.fence);
    assertEquals(store.calls, []);
    await lock.release();
  }
  assertEquals(store.calls, ["release"]);
  assertEquals(fences, fences.map((_, i) => fences[0]! + BigInt(i)));
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff overtakes nobody", async () => {
  const { here, others, get, wait, order, store } = scene();
  const holder = await get(others);
  const names: [string, HandoffStore][] = [["0", here], ["1", here], ["s", others], ["2", here], ["3", here], [
    "t",
    others,
  ]];
  const waiting = [];
  for (const [label, from] of names) waiting.push((await wait(label, from)).lock);
  await holder.release();
  for (const lock of waiting) await (await lock).release();
  assertEquals(order, ["0", "1", "s", "2", "3", "t"]);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff hands on no shared lock, permit or lock of an owner", async () => {
  const { here, others, get, wait, order } = scene();
  for (const options of [{ mode: "shared" }, { owner: "me" }] as const) {
    order.length = 0;
    const holder = await get(others);
    const waiting = [];
    for (const label of ["0", "1"]) waiting.push((await wait(label, here)).lock);
    waiting.push((await wait("2", here, options)).lock);
    waiting.push((await wait("3", here)).lock);
    await holder.release();
    for (const lock of waiting) await (await lock).release();
    assertEquals(order, ["0", "1", "2", "3"]);
  }
});

Deno.test("Handoff passes over a member that has given up before its turn", async () => {
  const all = scene();
  const holder = await all.get(all.others);
  const controller = new AbortController();
  const first = (await all.wait("0")).lock;
  const second = (await all.wait("1", all.here, { signal: controller.signal })).lock;
  const third = (await all.wait("2")).lock;
  await holder.release();
  const head = await first;
  controller.abort(new Error("enough"));
  await assertRejects(() => second, Error, "enough");
  await head.release();
  await (await third).release();
  assertEquals(all.order, ["0", "2"]);
  assertEquals(await leftovers(all.store), 0);
});

Deno.test("Handoff renews before it hands an older lease on, and passes its age", async () => {
  const { clock, store, waiters, head } = await row(3);
  await clock.advance(LEASE / 20);
  await head.release();
  const second = await waiters[1]!;
  assertEquals(store.calls, []);
  // 1 % and 2 ms are left for clocks that drift apart.
  assertEquals(second.remaining(), LEASE - LEASE / 100 - 2 - LEASE / 20);
  await clock.advance(LEASE / 10);
  await second.release();
  const third = await waiters[2]!;
  assertEquals(store.calls, ["renew"]);
  assertEquals(third.remaining(), LEASE - LEASE / 100 - 2);
  await third.release();
});

Deno.test("Handoff renews before it hands a lease on that was older when it was asked for", async () => {
  const { store, others, get, wait } = scene();
  const holder = await get(others);
  const [first, second] = [await wait("0"), await wait("1")];
  const attempt = store.attempt.bind(store);
  store.attempt = async (claim, options) => {
    const answer = await attempt(claim, options);
    return answer.granted ? { ...answer, age: LEASE / 5 } : answer;
  };
  await holder.release();
  const head = await first.lock;
  store.calls.length = 0;
  await head.release();
  const next = await second.lock;
  assertEquals(store.calls, ["renew"]);
  await next.release();
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff renews a lease that is handed on, at its interval", async () => {
  const { clock, store, waiters, head } = await row(2);
  await clock.advance(LEASE / 20);
  await head.release();
  const lock = await waiters[1]!;
  await clock.advance(LEASE / 3 - LEASE / 20 + 2);
  assertEquals(store.calls, ["renew"]);
  await clock.advance(3 * LEASE);
  assert(lock.held, "the lease is renewed");
  await lock.release();
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff renews with the lease of the next one, which the store numbers", async () => {
  const { clock, store, here, others, get, wait } = scene();
  const holder = await get(others);
  const waiting = [];
  for (const lease of [LEASE, LEASE / 2, LEASE / 2, LEASE]) {
    waiting.push((await wait("", here, { lease })).lock);
  }
  await holder.release();
  for (const lock of waiting) {
    assertEquals((await lock).remaining() > LEASE / 3, true);
    await (await lock).release();
  }
  assertEquals(store.renewals.map(({ lease, renewal }) => [lease, renewal]), [[LEASE / 2, 1], [LEASE, 2]]);
  await clock.advance(0);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff ends a run when the reply to a renewal is lost, and places are kept", async () => {
  const { clock, store, waiters, head, others, wait, order } = await row(4);
  const rival = (await wait("s", others)).lock;
  await clock.advance(LEASE / 5);
  store.reply = (call) => {
    if (call === "renew") throw new Error("reply lost");
  };
  await head.release();
  await clock.advance(100);
  store.reply = () => {};
  for (const waiter of [...waiters.slice(1), rival]) {
    await clock.advance(1_000);
    await (await waiter).release();
  }
  assertEquals(order, ["0", "1", "2", "3", "s"]);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff renews before it hands on a lease whose last renewal was not answered", async () => {
  const { clock, store, here, others, get, wait } = scene();
  const holder = await get(others);
  const head = (await wait("head")).lock;
  const next = (await wait("next", here, { lease: 2 * LEASE })).lock;
  await holder.release();
  store.reply = (call) => {
    if (call === "renew") throw new Error("reply lost");
  };
  // As long as that of the next one, if it was executed.
  await assertRejects(() => head.then((lock) => lock.extend(2 * LEASE)), StoreError);
  store.reply = () => {};
  assertEquals(store.renewals.length, 1);
  await (await head).release();
  await (await next).release();
  assertEquals(store.renewals.map(({ lease, renewal }) => [lease, renewal]), [[2 * LEASE, 1], [2 * LEASE, 2]]);
  await clock.advance(0);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff hands on nothing that the store does not have any more", async () => {
  const { clock, store, waiters, head, others, get, order, wait } = await row(3, "not notified");
  const rival = (await wait("s", others)).lock;
  // Another process evicts the holder; this one is told by its next renewal. Who is in the queue is served meanwhile.
  await store.evict("a");
  assertEquals(await get(others, { wait: 0 }), null);
  await clock.advance(LEASE / 2);
  assert(!head.held, "the first one knows");
  await assertRejects(() => head.release(), LockLostError);
  for (const lock of [rival, waiters[1]!, waiters[2]!]) {
    await clock.advance(1_000);
    const held = await lock;
    assert(held.held, "held");
    await held.release();
  }
  assertEquals(order, ["0", "s", "1", "2"]);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff hands on nothing after a steal of the same process", async () => {
  const { clock, store, here, waiters, head } = await row(3);
  const thief = await acquireFrom(here, "a", checkAcquireOptions({ steal: true, lease: LEASE }), clock);
  await assertRejects(() => head.release(), LockLostError);
  await clock.advance(100);
  const states = await Promise.race([waiters[1]!.then(() => "held"), Promise.resolve().then(() => "waiting")]);
  assertEquals(states, "waiting");
  await thief!.release();
  await clock.advance(1_000);
  const second = await waiters[1]!;
  assert(second.fence > thief!.fence, "its fence is above that of the thief");
  await second.release();
  await (await waiters[2]!).release();
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff keeps the lock for the next one when the first one releases twice", async () => {
  const { clock, here, store, other, first, second } = await pair();
  assert((await here.attempt(first, { enqueue: true })).granted);
  assert(await here.release(first));
  const attempt = await here.attempt(second, { enqueue: true });
  assert(attempt.granted);
  assertEquals(await here.release(first), false);
  assertEquals(await here.renew(first), "lost");
  assertEquals(await store.attempt(other, { enqueue: false }).then(({ granted }) => granted), false);
  assertEquals(await here.renew(second), "renewed");
  assert(await here.release(second));
  assertEquals(await here.release(second), false);
  assertEquals(await leftovers(store), 0);
  assertEquals(clock.pending, 0);
});

Deno.test("Handoff wakes those that a run has taken whose reply was lost", async () => {
  const { clock, store, here, others, get, wait, order } = scene();
  const holder = await get(others);
  const waiting = [];
  for (const label of ["0", "1", "2"]) waiting.push((await wait(label, here)).lock);
  let lost = 0;
  store.reply = (call) => {
    if (call === "attempt" && lost++ === 0) throw new StoreError("reply lost");
  };
  await holder.release();
  await clock.advance(0);
  for (const lock of waiting) {
    await clock.advance(150);
    await (await lock).release();
  }
  assertEquals(order, ["0", "1", "2"]);
  assertEquals(await leftovers(store), 0);
});

/** Returns what is woken of a handle's sleep by now. */
async function isWoken(here: HandoffStore, claim: Claim): Promise<boolean> {
  const controller = new AbortController();
  let woken = false;
  void here.wakeup(claim, controller.signal).then(() => {
    if (!controller.signal.aborted) woken = true;
  });
  for (let i = 0; i < 10; i++) await Promise.resolve();
  controller.abort();
  return woken;
}

Deno.test("Handoff grants the lock again to the head of a run that attempts again", async () => {
  const { here, store, first, second, clock } = await pair();
  const granted = await here.attempt(first, { enqueue: true });
  // Its answer came too late for its lease.
  await clock.advance(LEASE / 5);
  const again = await here.attempt(first, { enqueue: true });
  assert(granted.granted && again.granted);
  assertEquals(again.fence, granted.fence);
  assertEquals(store.calls, ["attempt", "renew"]);
  await here.release(first);
  const next = await here.attempt(second, { enqueue: true });
  assert(next.granted && next.fence > again.fence);
  assertEquals(store.calls, ["attempt", "renew"]);
  await here.release(second);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff grants the lock again to a member of a run that attempts again", async () => {
  const { here, store, first, second, clock } = await pair();
  await here.attempt(first, { enqueue: true });
  await here.release(first);
  const granted = await here.attempt(second, { enqueue: true });
  await clock.advance(LEASE / 2);
  const again = await here.attempt(second, { enqueue: true });
  assert(granted.granted && again.granted);
  assertEquals(again.fence, granted.fence);
  assertEquals(await here.renew(second), "renewed");
  await here.release(second);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff leaves no place of a member that attempts again when its lock is lost", async () => {
  const { here, store, first, second, other } = await pair();
  // It is not notified.
  store.revocation = () => new Promise(() => {});
  await here.attempt(first, { enqueue: true });
  await here.release(first);
  assert((await here.attempt(second, { enqueue: true })).granted);
  assert((await store.attempt(other, { enqueue: false, steal: true })).granted);
  assert(!(await here.attempt(second, { enqueue: true })).granted);
  assertEquals((await store.query()).pending, [], "it would have a place that nobody gives back");
  await store.release(other);
  assert((await here.attempt(second, { enqueue: true })).granted);
  await here.release(second);
  assertEquals(await leftovers(store), 0);
});

/** Checks that the first handle holds the lock by a grant without the member, which asks for itself. */
async function assertAlone({ here, store, first, second }: Awaited<ReturnType<typeof pair>>, granted: Attempt) {
  assert(granted.granted);
  assert(await isWoken(here, second), "the member asks by itself");
  assert(!(await here.attempt(second, { enqueue: true })).granted);
  assertEquals(await here.renew(first), "renewed");
  await here.release(first);
  const next = await here.attempt(second, { enqueue: true });
  assert(next.granted && next.fence > granted.fence);
  await here.release(second);
  assertEquals(await leftovers(store), 0);
}

Deno.test("Handoff ends a run that is lost when its head attempts again", async () => {
  const all = await pair();
  const { here, first, clock } = all;
  await here.attempt(first, { enqueue: true });
  await clock.advance(2 * LEASE);
  const again = await here.attempt(first, { enqueue: true });
  await assertAlone(all, again);
});

Deno.test("Handoff wakes the members of a run that was granted twice", async () => {
  const all = await pair();
  const { here, store, first } = all;
  const arrives = Promise.withResolvers<void>();
  store.reply = (call) => call === "attempt" ? arrives.promise : undefined;
  // The first attempt was not answered in time, and so there is a second one.
  const attempts = [1, 2].map(() => here.attempt(first, { enqueue: true }));
  arrives.resolve();
  const [, granted] = await Promise.all(attempts);
  await assertAlone(all, granted!);
});

Deno.test("revocation() of a handle that was handed the lock resolves when that is evicted", async () => {
  const { store, waiters, head } = await row(3);
  await head.release();
  const second = await waiters[1]!;
  const { signal } = second;
  await store.evict("a");
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert(signal.aborted, "it knows");
  await assertRejects(() => second.release(), LockLostError);
  await (await waiters[2]!).release();
});
