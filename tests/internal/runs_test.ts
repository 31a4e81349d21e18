import { assert, assertEquals, assertRejects } from "@std/assert";
import { Runs } from "../../src/internal/runs.ts";
import { acquireFrom } from "../../src/acquisition.ts";
import { LockLostError, StoreError } from "../../src/errors.ts";
import type { Lock } from "../../src/lock.ts";
import { type AcquireOptions, checkAcquireOptions } from "../../src/options.ts";
import type { Attempt, AttemptOptions, Claim, Renewal } from "../../src/store.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

const LEASE = 10_000;

/** A store in memory that notes its calls, and can be told to lose replies or to wait. */
class Noted extends MemoryStore {
  readonly calls: string[] = [];
  readonly renewals: Claim[] = [];
  /** Is awaited before a call's reply arrives. */
  reply: (call: string, claim: Claim) => void | Promise<void> = () => {};

  override async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await super.attempt(claim, options);
    await this.#replied("attempt", claim);
    return attempt;
  }

  override async renew(claim: Claim): Promise<Renewal> {
    this.renewals.push(claim);
    const renewal = await super.renew(claim);
    await this.#replied("renew", claim);
    return renewal;
  }

  override async release(claim: Claim): Promise<boolean> {
    const released = await super.release(claim);
    await this.#replied("release", claim);
    return released;
  }

  async #replied(call: string, claim: Claim): Promise<void> {
    this.calls.push(call);
    await this.reply(call, claim);
  }
}

/** A store with two processes, and what their handles do in order. */
function scene() {
  const clock = new VirtualClock();
  const store = new Noted(undefined, clock);
  const [runs, others] = [new Runs(store, clock), new Runs(store, clock)];
  const order: string[] = [];
  const get = (from: Runs, options: AcquireOptions = {}) =>
    acquireFrom(from, "a", checkAcquireOptions({ lease: LEASE, wait: 60_000, ...options }), clock) as Promise<Lock>;
  /** Begins to wait; the lock is kept until the test releases it. */
  const wait = async (label: string, from = runs, options: AcquireOptions = {}) => {
    const lock = get(from, options).then((lock) => {
      order.push(label);
      return lock;
    });
    lock.catch(() => {});
    await clock.advance(0);
    return { lock };
  };
  return { clock, store, runs, others, order, get, wait };
}

/** Makes handles of this process wait in a row behind a stranger that holds the lock; returns their locks. */
async function row(count: number) {
  const all = scene();
  const holder = await all.get(all.others);
  const waiters: Promise<Lock>[] = [];
  for (let i = 0; i < count; i++) waiters.push((await all.wait(`${i}`)).lock);
  await holder.release();
  const head = await waiters[0]!;
  all.store.calls.length = 0;
  return { ...all, waiters, head };
}

const leftovers = async (store: MemoryStore) => {
  const { held, pending } = await store.query();
  return held.length + pending.length;
};

Deno.test("Runs hands a lock on without a call of the store", async () => {
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

Deno.test("Runs overtakes nobody", async () => {
  const { runs, others, get, wait, order, store } = scene();
  const holder = await get(others);
  const names: [string, Runs][] = [["0", runs], ["1", runs], ["s", others], ["2", runs], ["3", runs], ["t", others]];
  const waiting = [];
  for (const [label, from] of names) waiting.push((await wait(label, from)).lock);
  await holder.release();
  for (const lock of waiting) await (await lock).release();
  assertEquals(order, ["0", "1", "s", "2", "3", "t"]);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Runs hands on no shared lock, permit or lock of an owner", async () => {
  const { runs, others, get, wait, order } = scene();
  for (const options of [{ mode: "shared" }, { owner: "me" }] as const) {
    order.length = 0;
    const holder = await get(others);
    const waiting = [];
    for (const label of ["0", "1"]) waiting.push((await wait(label, runs)).lock);
    waiting.push((await wait("2", runs, options)).lock);
    waiting.push((await wait("3", runs)).lock);
    await holder.release();
    for (const lock of waiting) await (await lock).release();
    assertEquals(order, ["0", "1", "2", "3"]);
  }
});

Deno.test("Runs passes over a member that has given up before its turn", async () => {
  const all = scene();
  const holder = await all.get(all.others);
  const controller = new AbortController();
  const first = (await all.wait("0")).lock;
  const second = (await all.wait("1", all.runs, { signal: controller.signal })).lock;
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

Deno.test("Runs gives the lock back when the last member gives up as its turn comes", async () => {
  const all = scene();
  const holder = await all.get(all.others);
  const controller = new AbortController();
  const first = (await all.wait("0")).lock;
  const second = (await all.wait("1", all.runs, { signal: controller.signal })).lock;
  await holder.release();
  const head = await first;
  void head.release();
  controller.abort(new Error("enough"));
  await assertRejects(() => second, Error, "enough");
  await all.clock.advance(0);
  assertEquals(await leftovers(all.store), 0);
});

Deno.test("Runs renews before it hands an older lease on, and passes its age", async () => {
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

Deno.test("Runs renews a lease that is handed on as often as any other", async () => {
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

Deno.test("Runs renews with the lease of the next one, which the store numbers", async () => {
  const { clock, store, runs, others, get, wait } = scene();
  const holder = await get(others);
  const waiting = [];
  for (const lease of [LEASE, LEASE / 2, LEASE / 2, LEASE]) {
    waiting.push((await wait("", runs, { lease })).lock);
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

Deno.test("Runs ends a run when the reply to a renewal is lost, and places are kept", async () => {
  const { clock, store, waiters, head, others, wait, order } = await row(4);
  const stranger = (await wait("s", others)).lock;
  await clock.advance(LEASE / 5);
  store.reply = (call) => {
    if (call === "renew") throw new Error("reply lost");
  };
  await head.release();
  await clock.advance(100);
  store.reply = () => {};
  for (const waiter of [...waiters.slice(1), stranger]) {
    await clock.advance(1_000);
    await (await waiter).release();
  }
  assertEquals(order, ["0", "1", "2", "3", "s"]);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Runs renews before it hands on a lease whose last renewal was not answered", async () => {
  const { clock, store, runs, others, get, wait } = scene();
  const holder = await get(others);
  const head = (await wait("head")).lock;
  const next = (await wait("next", runs, { lease: 2 * LEASE })).lock;
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

Deno.test("Runs hands on nothing that the store does not have any more", async () => {
  const { clock, store, waiters, head, others, get, order, wait } = await row(3);
  const stranger = (await wait("s", others)).lock;
  // Another process evicts the holder; this one is told by its next renewal. Who is in the queue is served meanwhile.
  await store.evict("a");
  assertEquals(await get(others, { wait: 0 }), null);
  await clock.advance(LEASE / 2);
  assert(!head.held, "the first one knows");
  await assertRejects(() => head.release(), LockLostError);
  for (const lock of [stranger, waiters[1]!, waiters[2]!]) {
    await clock.advance(1_000);
    const held = await lock;
    assert(held.held, "held");
    await held.release();
  }
  assertEquals(order, ["0", "s", "1", "2"]);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Runs hands on nothing after a steal of the same process", async () => {
  const { clock, store, runs, waiters, head } = await row(3);
  const thief = await acquireFrom(runs, "a", checkAcquireOptions({ steal: true, lease: LEASE }), clock);
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

Deno.test("Runs does not give the lock of the next one back when the first releases twice", async () => {
  const { clock, runs, store } = scene();
  const claim = (): Claim => ({ name: "a", owner: crypto.randomUUID(), mode: "exclusive", lease: LEASE });
  const [other, first, second] = [claim(), claim(), claim()];
  await store.attempt(other, { enqueue: true });
  for (const each of [first, second]) await runs.attempt(each, { enqueue: true });
  await store.release(other);
  assert((await runs.attempt(first, { enqueue: true })).granted);
  assert(await runs.release(first));
  const attempt = await runs.attempt(second, { enqueue: true });
  assert(attempt.granted);
  assertEquals(await runs.release(first), false);
  assertEquals(await runs.renew(first), "lost");
  assertEquals(await store.attempt(other, { enqueue: false }).then(({ granted }) => granted), false);
  assertEquals(await runs.renew(second), "renewed");
  assert(await runs.release(second));
  assertEquals(await runs.release(second), false);
  assertEquals(await leftovers(store), 0);
  assertEquals(clock.pending, 0);
});

Deno.test("Runs removes a member from the queue that it entered while it was taken out", async () => {
  const { runs, store } = scene();
  const claim = (): Claim => ({ name: "a", owner: crypto.randomUUID(), mode: "exclusive", lease: LEASE });
  const [other, first, second] = [claim(), claim(), claim()];
  await store.attempt(other, { enqueue: true });
  for (const each of [first, second]) await runs.attempt(each, { enqueue: true });
  await store.release(other);
  const taken = Promise.withResolvers<void>();
  // The second asks again; its attempt is executed after the first one was granted the run, and before it hears of that.
  store.reply = (call, { owner }) => call === "attempt" && owner === first.owner ? taken.promise : undefined;
  const granting = runs.attempt(first, { enqueue: true });
  const asking = runs.attempt(second, { enqueue: true });
  taken.resolve();
  assert((await granting).granted);
  assert(!(await asking).granted);
  assertEquals((await store.query()).pending.length, 1);
  await runs.release(first);
  assert((await runs.attempt(second, { enqueue: true })).granted);
  await runs.release(second);
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(await leftovers(store), 0);
});

Deno.test("Runs wakes those that a run has taken whose reply was lost", async () => {
  const { clock, store, runs, others, get, wait, order } = scene();
  const holder = await get(others);
  const waiting = [];
  for (const label of ["0", "1", "2"]) waiting.push((await wait(label, runs)).lock);
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

Deno.test("show() lists the handles of a run in the place of its first one", async () => {
  const { store, runs, waiters, head, others, wait } = await row(3);
  const stranger = (await wait("s", others)).lock;
  await head.release();
  const second = await waiters[1]!;
  const snapshot = runs.show(await store.query());
  assertEquals(snapshot.held.map(({ owner }) => owner), [second.owner]);
  assertEquals(snapshot.pending.length, 2);
  await second.release();
  const third = await waiters[2]!;
  assertEquals(snapshot.pending[0]?.owner, third.owner);
  await third.release();
  await (await stranger).release();
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
