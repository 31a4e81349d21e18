import { assert, assertEquals, assertRejects } from "@std/assert";
import { ProcessLease } from "../../src/handoff/process_lease.ts";
import { StoreError } from "../../src/contract/errors.ts";
import type { Renewal } from "../../src/contract/store.ts";
import { claimOf } from "../support/claims.ts";
import { hanging, inTurn, ScriptedStore, unreachable } from "../support/scripted_store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";

const LEASE = 1_000;

/** Makes a lease that has just been granted, `age` milliseconds after it had begun. */
function leased(age?: number) {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  const claim = claimOf("a", "exclusive", LEASE);
  return { clock, store, claim, lease: new ProcessLease(store, claim, clock.now(), clock, age) };
}

Deno.test("ProcessLease.isFresh() holds for a tenth of the lease, and for that length only", () => {
  const { clock, lease } = leased();
  clock.stall(100);
  assertEquals([lease.ageAt(clock.now()), lease.isFresh(LEASE), lease.isFresh(LEASE + 1), lease.isFresh(LEASE - 1)], [
    100,
    true,
    false,
    false,
  ]);
  clock.stall(1);
  assert(!lease.isFresh(LEASE));
  assert(!leased(101).lease.isFresh(LEASE), "the age at the attempt counts");
});

Deno.test("ProcessLease.isFresh() does not hold once either clock has jumped", () => {
  const { clock, lease } = leased();
  clock.setWall(3_600_000);
  assert(!lease.isFresh(LEASE) && lease.hasEnded());
  clock.setWall(-7_200_000);
  assert(lease.isFresh(LEASE) && !lease.hasEnded(), "set back, the other clock counts");
});

Deno.test("ProcessLease.renew() counts from when it was sent, and numbers other lengths", async () => {
  const { clock, store, lease } = leased();
  store.onRenew = () => {
    clock.stall(300);
    return "renewed";
  };
  assertEquals(await lease.renew(LEASE), "renewed");
  assertEquals([lease.ageAt(clock.now()), lease.claim.renewal], [300, undefined]);
  await lease.renew(2 * LEASE);
  await lease.renew(2 * LEASE);
  assertEquals(store.calls.map(({ claim }) => [claim.lease, claim.renewal]), [
    [LEASE, undefined],
    [2 * LEASE, 1],
    [2 * LEASE, 2],
  ]);
});

Deno.test("ProcessLease.renew() without an answer leaves the lease unknown", async () => {
  const { store, lease } = leased();
  for (const onRenew of [hanging, unreachable]) {
    store.onRenew = onRenew;
    const renewal = lease.renew(100).catch(() => {});
    await settled();
    assert(!lease.isFresh(LEASE) && !lease.isFresh(100), "nobody knows which");
    if (onRenew === hanging) return;
    await renewal;
    assert(!lease.isFresh(LEASE) && !lease.isFresh(100), "still nobody");
    store.onRenew = () => "renewed";
    await lease.renew(LEASE);
    assert(lease.isFresh(LEASE));
  }
});

Deno.test("ProcessLease.renew() that failed is followed by one that is answered", async () => {
  const { store, lease } = leased();
  store.onRenew = inTurn<Renewal>(unreachable, () => "renewed");
  await assertRejects(() => lease.renew(100), Error, "connection refused");
  assert(!lease.isFresh(100) && !lease.over);
  assertEquals(await lease.renew(LEASE), "renewed");
  assert(lease.isFresh(LEASE));
});

Deno.test("ProcessLease.hasEnded() once no request that the store may have executed lasts", async () => {
  const { clock, store, lease } = leased();
  store.onRenew = unreachable;
  await clock.advance(900);
  await lease.renew(500).catch(() => {});
  clock.stall(100);
  assert(!lease.hasEnded(), "the renewal may last longer");
  clock.stall(400);
  assert(lease.hasEnded());
  const shorter = leased();
  shorter.store.onRenew = unreachable;
  await shorter.lease.renew(100).catch(() => {});
  shorter.clock.stall(100);
  assert(!shorter.lease.hasEnded(), "the shortening may not have been executed");
});

Deno.test("ProcessLease.renew() sends one renewal at a time", async () => {
  const { store, lease } = leased();
  const answers: ((renewal: Renewal) => void)[] = [];
  store.onRenew = () => new Promise<Renewal>((resolve) => answers.push(resolve));
  const renewals = [lease.renew(2_000), lease.renew(3_000)];
  await settled();
  assertEquals(answers.length, 1);
  answers[0]!("renewed");
  await settled();
  assertEquals(answers.length, 2);
  assert(!lease.isFresh(2_000), "another one is under way");
  answers[1]!("renewed");
  assertEquals(await Promise.all(renewals), ["renewed", "renewed"]);
  assert(lease.isFresh(3_000));
});

Deno.test("ProcessLease.renew() gives lost once the store said so, and asks no more", async () => {
  const { store, lease } = leased();
  store.onRenew = () => "lost";
  assertEquals([await lease.renew(LEASE), await lease.renew(LEASE)], ["lost", "lost"]);
  assertEquals([store.times("renew").length, lease.over], [1, true]);
});

Deno.test("ProcessLease.release() follows the renewal in flight, or is sent at once", async () => {
  const { store, lease } = leased();
  let answer = (_: Renewal) => {};
  store.onRenew = () => new Promise<Renewal>((resolve) => answer = resolve);
  void lease.renew(LEASE);
  const released = lease.release();
  await settled();
  assertEquals(store.times("release"), [], "it must not be overtaken");
  answer("renewed");
  assert(await released);
  const other = leased();
  const sent = other.lease.release();
  assertEquals(other.store.times("release"), [0]);
  assert(await sent && other.lease.over && !other.lease.isFresh(LEASE));
});

Deno.test("ProcessLease.undo() retries until the answer or the end of the lease", async () => {
  const { clock, store, lease } = leased();
  store.onRelease = inTurn<boolean>(unreachable, unreachable, () => false);
  let undone = false;
  void lease.undo().then(() => undone = true);
  await clock.advance(LEASE / 2);
  assertEquals([undone, store.times("release").length, clock.pending], [true, 3, 0]);
  const never = leased();
  never.store.onRelease = unreachable;
  undone = false;
  void never.lease.undo().then(() => undone = true);
  await never.clock.advance(LEASE - 1);
  assert(!undone);
  await never.clock.advance(LEASE);
  assertEquals([undone, never.clock.pending], [true, 0]);
  assertEquals(never.store.events, [], "it is no release of a handle");
});

Deno.test("ProcessLease.undo() does not retry what is of no use", async () => {
  const { clock, store, lease } = leased();
  store.onRelease = () => Promise.reject(new StoreError("NOPERM", { permanent: true }));
  await lease.undo();
  assertEquals([store.times("release").length, clock.pending], [1, 0]);
});
