import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { acquireAll, LockLostError, StoreError, tryAcquire, withLock } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import type { Renewal } from "../../src/contract/store.ts";
import { KINDS, Scene } from "../handoff/scene.ts";
import { type HeldLock, holdLock, outcome } from "../support/held_lock.ts";
import { granted, hanging, inTurn, ScriptedStore, unreachable } from "../support/scripted_store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";

/** What was sent: the operation, the lease and the number of the renewal. */
function sent({ store }: HeldLock): unknown[] {
  return store.calls.map(({ operation, claim: { lease, renewal } }) => [operation, lease, renewal]);
}

Deno.test("release() with atLeast renews once for what is missing, and sends nothing more", async () => {
  for (const end of ["release", "dispose"] as const) {
    for (const atLeast of [5_000, 600_000]) {
      const held = await holdLock({ atLeast });
      await held.clock.advance(1_200);
      const ended = end === "release" ? held.lock.release() : held.lock[Symbol.asyncDispose]();
      assertEquals([held.lock.held, held.lock.remaining()], [false, 0]);
      assertEquals(await outcome(held, ended), "resolved");
      await held.lock.release();
      assertEquals(sent(held), [["renew", atLeast - 1_200, 1]]);
      assertEquals([held.store.eventTypes, held.clock.pending, held.lock.signal.aborted], [["released"], 0, false]);
    }
  }
});

Deno.test("release() with atLeast renews for 10 ms at least", async () => {
  const held = await holdLock({ atLeast: 1_000 });
  await held.clock.advance(999);
  await held.lock.release();
  assertEquals(sent(held), [["renew", 10, 1]]);
});

Deno.test("release() of a lock that was held for atLeast releases it", async () => {
  const held = await holdLock({ atLeast: 1_000 });
  await held.clock.advance(1_000);
  await held.lock.release();
  assertEquals(sent(held), [["release", 30_000, undefined]]);
});

Deno.test("release() with atLeast counts from the grant, not from the call", async () => {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.onAttempt = async () => {
    await clock.sleep(300);
    return granted(7n);
  };
  const acquiring = acquireFrom(store, "a", checkAcquireOptions({ atLeast: 1_000 }), clock);
  await clock.advance(300);
  await (await acquiring)!.release();
  assertEquals(store.calls.at(-1)?.claim.lease, 1_000);
});

Deno.test("release() with atLeast is numbered behind extend(), and waits for a renewal", async () => {
  const held = await holdLock({ atLeast: 5_000, lease: 900 });
  await held.lock.extend(3_000);
  const renewal = Promise.withResolvers<Renewal>();
  held.store.onRenew = ({ renewal: number }) => number === 2 ? renewal.promise : "renewed";
  await held.clock.advance(1_000);
  const releasing = held.lock.release();
  await held.clock.advance(10);
  assertEquals(sent(held), [["renew", 3_000, 1], ["renew", 3_000, 2]]);
  renewal.resolve("renewed");
  assertEquals(await outcome(held, releasing), "resolved");
  assertEquals(sent(held).slice(2), [["renew", 4_000, 3]]);
});

Deno.test("release() with atLeast is retried while the store fails, and then rejects", async () => {
  // That a retry finds nothing is no loss: the renewal whose reply was lost may have ended meanwhile.
  for (const found of ["renewed", "lost"] as const) {
    const held = await holdLock({ atLeast: 5_000 });
    held.store.onRenew = inTurn<Renewal>(unreachable, () => found);
    assertEquals(await outcome(held, held.lock.release()), "resolved");
    assertEquals(held.store.eventTypes, ["fault", "released"]);
    assertEquals(sent(held), [["renew", 5_000, 1], ["renew", 5_000, 1]]);
  }
  for (const answer of [unreachable, hanging]) {
    const held = await holdLock({ atLeast: 5_000 });
    held.store.onRenew = answer;
    assertInstanceOf(await outcome(held, held.lock.release()), StoreError);
    assertEquals(await outcome(held, held.lock[Symbol.asyncDispose]()), "resolved");
    assertEquals([held.clock.pending, held.store.times("release")], [0, []]);
  }
});

Deno.test("release() with atLeast of a lock that was lost rejects, and keeps nothing", async () => {
  const evicted = await holdLock({ atLeast: 5_000 });
  evicted.store.onRenew = () => "lost";
  assertInstanceOf(await outcome(evicted, evicted.lock.release()), LockLostError);
  assertEquals(evicted.store.eventTypes, ["lost"]);

  const expired = await holdLock({ atLeast: 5_000, lease: 900, renew: false });
  await expired.clock.advance(900);
  await assertRejects(() => expired.lock.release(), LockLostError);
  await settled();
  assertEquals(sent(expired), [["release", 900, undefined]]);
});

Deno.test("withLock() and tryAcquire() take atLeast, also for an owner that re-enters", async () => {
  const store = memory();
  await withLock(store, "a", { atLeast: 60_000, owner: "me" }, () => {});
  assertEquals(await tryAcquire(store, "a"), null);
  // The owner may, and its other handle does not end what is kept.
  await using again = await tryAcquire(store, "a", { owner: "me" });
  assert(again !== null);
  await again.release();
  assertEquals(await tryAcquire(store, "a"), null);
  const { held } = await store.query({ name: "a" });
  assertEquals(held.map(({ owner }) => owner), ["me"]);
  assertEquals(await store.evict("a"), 1, "it can be evicted");
});

Deno.test("acquireAll() refuses atLeast, and says what takes it", async () => {
  const options = { atLeast: 5 } as object;
  const error = await assertRejects(() => acquireAll(memory(), ["a"], options), TypeError);
  assert(error.message.startsWith('unknown option "atLeast": use acquire() with atLeast; '), error.message);
});

for (const [when, options] of KINDS) {
  Deno.test(`release() with atLeast hands nothing on inside a process before, ${when}`, async () => {
    const scene = new Scene();
    const { clock, served, rival } = scene;
    const here = scene.process(options);
    const outside = await rival.acquire();
    // Three that may be granted the lock together; the first two keep it.
    const kept = await here.section("first", 0, { atLeast: 700 });
    const next = await here.section("second", 5, { atLeast: 400 });
    const last = await here.section("third", 0);
    await outside.release();
    await clock.advance(10);
    assertEquals(served, ["first"]);
    await clock.advance(680);
    assertEquals(served, ["first"], "kept by the first");
    await clock.advance(30);
    assertEquals(served, ["first", "second"]);
    await clock.advance(370);
    assertEquals(served, ["first", "second"], "kept by the second");
    await clock.advance(40);
    assertEquals(served, ["first", "second", "third"]);
    await clock.advance(2_000);
    await Promise.all([kept.end, next.end, last.end]);
    await scene.assertEmpty();
  });

  Deno.test(`release() with atLeast serves rivals before newcomers, ${when}`, async () => {
    const scene = new Scene();
    const { clock, served, rival } = scene;
    const here = scene.process(options);
    const kept = await here.section("kept", 0, { atLeast: 700 });
    const outside = await rival.section("rival", 5);
    const newcomer = await here.section("newcomer", 0);
    assertEquals(await here.tryAcquire(), null);
    await clock.advance(690);
    assertEquals(served, ["kept"]);
    await clock.advance(2_000);
    assertEquals(served, ["kept", "rival", "newcomer"]);
    await Promise.all([kept.end, outside.end, newcomer.end]);
    await scene.assertEmpty();
  });
}

Deno.test("release() with atLeast leaves nothing of the handle in its process", async () => {
  const scene = new Scene();
  const here = scene.process();
  for (const _ of [1, 2]) {
    await (await here.acquire({ atLeast: 700 })).release();
    await scene.clock.advance(700);
  }
  // A handle behind another one of its process would attempt in a group.
  const attempts = here.line.calls.filter(({ operation }) => operation === "attempt");
  assertEquals(attempts.map(({ claim }) => claim?.group), [undefined, undefined]);
  await scene.assertEmpty();
});
