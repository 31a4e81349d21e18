import { assert, assertEquals, assertRejects } from "@std/assert";
import { LockLostError } from "../../src/contract/errors.ts";
import { claimOf } from "../support/claims.ts";
import { LEASE, leftovers, pair, row, scene } from "./noted.ts";

/**
 * A member with a place of its own: its attempt is executed after the first one was granted the run, and answered
 * before that grant is, or behind it.
 */
async function memberInQueue(answered: "before" | "behind" = "before") {
  const all = await pair();
  const { here, store, first, second } = all;
  const taken = Promise.withResolvers<void>();
  store.reply = (call, { owner }) => call === "attempt" && owner === first.owner ? taken.promise : undefined;
  const granting = here.attempt(first, { enqueue: true });
  const asking = here.attempt(second, { enqueue: true });
  if (answered === "before") assert(!(await asking).granted);
  taken.resolve();
  assert((await granting).granted);
  assert(!(await asking).granted);
  return all;
}

for (const answered of ["before", "behind"] as const) {
  Deno.test(`Handoff removes a member from the queue, answered ${answered} the grant of a run`, async () => {
    const { here, store, first, second } = await memberInQueue(answered);
    assertEquals((await store.query()).pending.length, 1);
    await here.release(first);
    assert((await here.attempt(second, { enqueue: true })).granted);
    await here.release(second);
    await new Promise((resolve) => setTimeout(resolve, 0));
    assertEquals(await leftovers(store), 0);
  });
}

Deno.test("Handoff ends a run whose first handle attempts again, as it was told too late", async () => {
  const { clock, here, store, first, second } = await pair();
  const rival = claimOf("a", "exclusive", LEASE);
  assert((await here.attempt(first, { enqueue: true })).granted);
  const woken = here.wakeup(second, new AbortController().signal);
  await clock.advance(LEASE + 1);
  assert((await store.attempt(rival, { enqueue: false })).granted);
  assert(!(await here.attempt(first, { enqueue: true })).granted);
  await here.release(first);
  await store.release(rival);
  await woken;
  assert((await here.attempt(second, { enqueue: true })).granted);
  await here.release(second);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff wakes the members of a run whose grant is answered after the lease", async () => {
  const { clock, here, store, first, second } = await pair();
  store.reply = (call) => call === "attempt" ? clock.stall(LEASE) : undefined;
  const woken = here.wakeup(second, new AbortController().signal);
  const granted = await here.attempt(first, { enqueue: true });
  assert(granted.granted, "its caller finds out that it is too late");
  await woken;
  store.reply = () => {};
  const next = await here.attempt(second, { enqueue: true });
  assert(next.granted && next.fence > granted.fence);
  for (const claim of [first, second]) await here.release(claim);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff ends a run when a renewal is never answered", async () => {
  const { clock, store, waiters, head, order } = await row(3);
  await clock.advance(LEASE / 5);
  let renewals = 0;
  store.reply = (call) => call === "renew" && renewals++ === 0 ? new Promise<void>(() => {}) : undefined;
  await head.release();
  const served = Promise.all(waiters.slice(1).map(async (lock) => await (await lock).release()));
  await clock.advance(3 * LEASE);
  await served;
  assertEquals(order.toSorted(), ["0", "1", "2"]);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff ends a run that is granted again while its first handle attempts", async () => {
  const { here, store, first, second } = await pair();
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let asked = 0;
  store.reply = (call) => call === "attempt" ? answers[asked++]?.promise : undefined;
  // Two attempts are under way. One was granted the lock with a run, and so is the other.
  const [one, two] = [here.attempt(first, { enqueue: true }), here.attempt(first, { enqueue: true })];
  answers[0]!.resolve();
  assert((await one).granted);
  const woken = here.wakeup(second, new AbortController().signal);
  answers[1]!.resolve();
  assert((await two).granted);
  await here.release(first);
  await woken;
  assert((await here.attempt(second, { enqueue: true })).granted);
  await here.release(second);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff hands on nothing that is granted to a handle that has given up", async () => {
  const { here, store, first, second } = await pair();
  const late = Promise.withResolvers<void>();
  store.reply = (call, { owner }) => call === "attempt" && owner === first.owner ? late.promise : undefined;
  const granting = here.attempt(first, { enqueue: true });
  await here.release(first);
  const woken = here.wakeup(second, new AbortController().signal);
  late.resolve();
  assert((await granting).granted);
  await woken;
  assert((await here.attempt(second, { enqueue: true })).granted);
  await here.release(second);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff reports a loss that it was not notified of with its last release only", async () => {
  const { clock, store, waiters, head } = await row(2, "not notified");
  await store.evict("a");
  await head.release();
  const last = await waiters[1]!;
  await assertRejects(() => last.release(), LockLostError);
  await clock.advance(0);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff gives the lock back when its last release is lost, or the reply to it", async () => {
  for (const executed of [false, true]) {
    const { clock, store, waiters, head } = await row(2);
    await head.release();
    const last = await waiters[1]!;
    const release = store.release.bind(store);
    let calls = 0;
    store.release = async (claim) => {
      const lost = calls++ === 0;
      const released = (!lost || executed) && await release(claim);
      if (lost) throw new Error("cut off");
      return released;
    };
    const released = last.release();
    await clock.advance(100);
    await released;
    // Its handle tries again, and so does the process in the background.
    assert(calls > 1);
    assertEquals(await leftovers(store), 0);
  }
});

Deno.test("Handoff hands on nothing when the process sleeps for a minute before a turn", async () => {
  const { clock, here, store, other, first, second } = await pair();
  const granted = await here.attempt(first, { enqueue: true });
  assert(await here.release(first));
  clock.stall(60_000);
  const taken = await store.attempt({ ...other, owner: crypto.randomUUID() }, { enqueue: false });
  assert(granted.granted && taken.granted && taken.fence > granted.fence + 1n);
  assert(!(await here.attempt(second, { enqueue: true })).granted);
  await clock.advance(LEASE);
  const next = await here.attempt(second, { enqueue: true });
  assert(next.granted && next.fence > taken.fence);
  assert(await here.release(second));
  await clock.advance(1);
  assertEquals(await leftovers(store), 0);
});

/**
 * A store whose lock is held, with a waiter, and a handle behind it whose attempt is not executed before `execute()`.
 */
async function lateAttempt() {
  const { clock, here, store } = scene();
  const claim = () => claimOf("a", "exclusive", LEASE);
  const [other, first, second] = [claim(), claim(), claim()];
  await store.attempt(other, { enqueue: true });
  await here.attempt(first, { enqueue: true });
  const { promise, resolve: execute } = Promise.withResolvers<void>();
  const attempt = store.attempt.bind(store);
  store.attempt = (claim, options) => promise.then(() => attempt(claim, options));
  return { clock, here, store, other, first, second, asking: here.attempt(second, { enqueue: true }), execute };
}

Deno.test("Handoff hands on nothing granted before an eviction and answered after it", async () => {
  const { here, store, other, first, second } = await pair();
  store.revocation = () => new Promise(() => {});
  const answer = Promise.withResolvers<void>();
  store.reply = (call, { owner }) => call === "attempt" && owner === first.owner ? answer.promise : undefined;
  const asking = here.attempt(first, { enqueue: true });
  assertEquals(await here.evict!("a"), 1);
  const rival = await store.attempt(other, { enqueue: false });
  answer.resolve();
  const granted = await asking;
  assert(rival.granted && granted.granted && granted.fence < rival.fence, "it finds out by itself");
  await here.release(first);
  assert(!(await here.attempt(second, { enqueue: true })).granted, "another process holds the lock");
  for (const claim of [second, other]) await here.release(claim);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff tells a holder of the loss when the store grants it the lock anew", async () => {
  const { clock, here, store, other, first, second } = await pair();
  store.revocation = () => new Promise(() => {});
  const attempt = store.attempt.bind(store);
  const execute = Promise.withResolvers<void>();
  store.attempt = (claim, options) => {
    return claim.owner === second.owner ? execute.promise.then(() => attempt(claim, options)) : attempt(claim, options);
  };
  const asking = here.attempt(second, { enqueue: true });
  assert((await here.attempt(first, { enqueue: true })).granted);
  await here.release(first);
  const handed = await here.attempt(second, { enqueue: true });
  assert(handed.granted);
  const revoked = here.revocation(second, new AbortController().signal);
  // The lock is evicted, which this process does not know: the reply is lost.
  const evict = store.evict.bind(store);
  store.evict = async (name) => {
    await evict(name);
    throw new Error("cut off");
  };
  await assertRejects(() => here.evict!("a"), Error, "cut off");
  execute.resolve();
  const granted = await asking;
  assert(granted.granted && granted.fence > handed.fence);
  await revoked;
  for (const claim of [second, other]) await here.release(claim);
  await clock.advance(0);
  assertEquals([here.names, await leftovers(store)], [[], 0]);
});

Deno.test("Handoff leaves the queue for an attempt that is executed after the release", async () => {
  const { clock, here, store, other, first, second, asking, execute } = await lateAttempt();
  await here.release(second);
  execute();
  await asking;
  await clock.advance(1);
  assertEquals((await store.query()).pending.map(({ owner }) => owner), [first.owner]);
  await here.release(first);
  await store.release(other);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff gives back what a handle is granted after its release", async () => {
  const { clock, here, store, other, first, second, asking, execute } = await lateAttempt();
  for (const each of [second, first]) await here.release(each);
  await store.release(other);
  execute();
  assert((await asking).granted);
  await clock.advance(1);
  assertEquals((await store.query()).held, []);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff does not ask for a handle released while the lease is renewed for it", async () => {
  const { clock, here, store, first, second } = await pair();
  assert((await here.attempt(first, { enqueue: true })).granted);
  await clock.advance(LEASE / 5);
  const { promise, resolve: renewed } = Promise.withResolvers<void>();
  store.reply = (call) => call === "renew" ? promise : undefined;
  await here.release(first);
  const claiming = here.attempt(second, { enqueue: true });
  const released = here.release(second);
  renewed();
  assert(!(await claiming).granted);
  await released;
  await clock.advance(0);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff.wakeup() of a holder resolves at once, and makes no waiter of it", async () => {
  const { clock, here, store, first, second } = await pair();
  assert((await here.attempt(first, { enqueue: true })).granted);
  const over = new AbortController();
  let woken = false;
  here.wakeup(first, over.signal).then(() => woken = true);
  await clock.advance(0);
  assert(woken);
  over.abort();
  for (const each of [first, second]) await here.release(each);
  await clock.advance(0);
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff.release() leaves the lock to the next handle, also when stopped", async () => {
  const { here, store, first, second } = await pair();
  assert((await here.attempt(first, { enqueue: true })).granted);
  await here.release(first);
  assert((await here.attempt(second, { enqueue: true })).granted);
  await here.stop();
  // The store knows the lock of the second one by the id of the first.
  assertEquals(await here.release(first), false);
  assertEquals((await store.query()).held.length, 1);
  assert(await here.release(second));
  assertEquals(await leftovers(store), 0);
});

Deno.test("Handoff asks for a member with a place of its own when the store wakes it", async () => {
  const { here, store, first, second } = await memberInQueue();
  // Elsewhere: this process is not notified.
  assertEquals(await store.evict("a"), 1);
  // Without a request it would be woken again at once, for ever.
  await here.wakeup(second, new AbortController().signal);
  assert((await here.attempt(second, { enqueue: true })).granted);
  assert(await here.release(second));
  await here.release(first);
  assertEquals(await leftovers(store), 0);
});
