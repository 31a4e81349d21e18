import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type Claim, StoreError } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import { claimOf as kindOf } from "../../support/claims.ts";
import { grantOf, groupOf, handlesOf, queueUp } from "../../support/run_claims.ts";
import { until } from "../../support/until.ts";
import { settled } from "../../support/virtual_clock.ts";
import { claimOf, type Fixture, LEASE, rows, testWithFixture } from "./fixture.ts";
import { holderOf, pending, sleeper } from "./waiting.ts";

type Members = [Claim, Claim, Claim];

/** Members of a group that wait in `fixture.b`, behind a holder in `fixture.a`. */
async function waitingMembers(fixture: Fixture): Promise<{ holder: Claim; members: Members }> {
  const holder = await holderOf(fixture.a);
  const members = groupOf("name", 3) as Members;
  await queueUp(fixture.b, ...members);
  return { holder, members };
}

testWithFixture("attempt() reserves fences of the file: other names get later ones", async (fixture) => {
  const [block, other] = [{ ...claimOf(), fences: 20 }, claimOf({ name: "other" })];
  const { fence, fences } = await grantOf(fixture.a, block);
  assertEquals(fences, 20);
  assertEquals((await grantOf(fixture.b, other)).fence, fence + 20n);
  for (const claim of [block, other]) assert(await fixture.a.release(claim));
});

testWithFixture("attempt() reserves fences to the last exact one, and then rejects", async (fixture) => {
  const last = BigInt(Number.MAX_SAFE_INTEGER);
  fixture.clock.setWall(Math.floor(Number.MAX_SAFE_INTEGER / 1_000) - 5 - fixture.clock.now().wall);
  const block = { ...claimOf(), fences: 1_000_000 };
  const { fence, fences } = await grantOf(fixture.a, block);
  assertEquals(fence + BigInt(fences! - 1), last);
  await assertRejects(() => fixture.b.attempt(claimOf({ name: "other" }), { enqueue: false }), Error, "2^53");
  assert(await fixture.a.release(block));
});

testWithFixture("attempt() takes members out of the file, and only their own process's", async (fixture) => {
  const { holder, members } = await waitingMembers(fixture);
  // As if the UUID of the group were known there.
  const rival = { ...claimOf(), group: members[0].group };
  await queueUp(fixture.a, rival);
  await fixture.a.release(holder);
  const { fence, run, contended } = await grantOf(fixture.b, members[0]);
  assertEquals([run, contended], [handlesOf(members.slice(1)), true]);
  assertEquals(rows(fixture.path), handlesOf([members[0], rival]));
  assert(await fixture.b.release(members[0]));
  const next = await grantOf(fixture.a, rival);
  assertEquals([next.fence, next.run, next.contended], [fence + 3n, [], false]);
  assert(await fixture.a.release(rival));
});

testWithFixture("attempt() says whether others wait only if that costs nothing or is asked", async (fixture) => {
  const [plain, waiter, last] = [claimOf(), claimOf(), claimOf()];
  assertEquals((await grantOf(fixture.a, plain)).contended, false);
  await queueUp(fixture.b, waiter, last);
  assertEquals((await grantOf(fixture.a, plain)).contended, undefined);
  assertEquals((await grantOf(fixture.a, { ...plain, fences: 2 })).contended, true);
  await fixture.a.release(plain);
  assertEquals((await grantOf(fixture.b, waiter)).contended, undefined);
  await fixture.b.release(last);
  assertEquals((await grantOf(fixture.b, { ...waiter, fences: 2 })).contended, false);
  assert(await fixture.b.release(waiter));
});

testWithFixture("attempt() with steal takes nobody along, also for a waiter that steals", async (fixture) => {
  const { holder, members: [first, second, third] } = await waitingMembers(fixture);
  const attempt = await fixture.b.attempt(second, { enqueue: true, steal: true });
  assert(attempt.granted);
  assertEquals([attempt.run, attempt.contended], [[], true]);
  assertEquals(await pending(fixture), handlesOf([first, third]));
  for (const claim of [second, first, third]) assert(await fixture.b.release(claim));
  assert(!await fixture.a.release(holder));
});

testWithFixture("attempt() ends a run after 100 others", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const members = groupOf("name", 150);
  await queueUp(fixture.b, ...members);
  await fixture.a.release(holder);
  const first = await grantOf(fixture.b, members[0]!);
  assertEquals([first.run, first.contended], [handlesOf(members.slice(1, 101)), true]);
  await fixture.b.release(members[0]!);
  const second = await grantOf(fixture.b, members[101]!);
  assertEquals([second.run, second.contended], [handlesOf(members.slice(102)), false]);
  await fixture.b.release(members[101]!);
});

testWithFixture("attempt() shortens a run whose fences would be too far ahead", async (fixture) => {
  const { holder, members } = await waitingMembers(fixture);
  const block = { ...claimOf({ name: "other" }), fences: 9_998 };
  await grantOf(fixture.a, block);
  await fixture.a.release(holder);
  const first = await grantOf(fixture.b, members[0]);
  assertEquals([first.run, first.contended], [handlesOf(members.slice(1, 2)), true]);
  assertEquals(rows(fixture.path).length, 3);
  assert(await fixture.a.release(block));
  for (const claim of [members[0], members[2]]) assert(await fixture.b.release(claim));
});

testWithFixture("attempt() ends a run at a waiter for a permit", async (fixture) => {
  const { holder, members: [first, second] } = await waitingMembers(fixture);
  const last = { ...claimOf(), group: first.group };
  await fixture.a.release(holder);
  await queueUp(fixture.b, kindOf("name", 2), last);
  const { pending: waiting } = await fixture.b.query();
  const permit = waiting.find(({ permits }) => permits === 2)!;
  assertEquals((await grantOf(fixture.b, first)).run?.[0], handlesOf([second])[0]);
  assertEquals(await pending(fixture), [permit.owner, last.owner]);
  for (const claim of [first, { ...permit, meta: undefined, lease: 1 }, last]) assert(await fixture.b.release(claim));
});

testWithFixture("attempt() takes members along past the waiter of a dead process", async (fixture) => {
  const holder = await holderOf(fixture.a, { lease: 3_600_000 });
  const [dead, gone, members] = [fixture.openDead(), claimOf(), groupOf("name", 2)];
  const asleep = [];
  await queueUp(fixture.b, members[0]!);
  await queueUp(dead, gone);
  await queueUp(fixture.b, members[1]!);
  for (const claim of members) asleep.push(sleeper(fixture.b, claim));
  await fixture.clock.advance(5_000);
  await fixture.a.release(holder);
  await fixture.clock.advance(500);
  assertEquals(asleep.map(({ woken }) => woken), [true, false]);
  const { run, contended } = await grantOf(fixture.b, members[0]!);
  assertEquals([run, contended], [handlesOf(members.slice(1)), false]);
  for (const claim of [members[0]!, gone]) assert(await fixture.b.release(claim));
  asleep[1]!.over.abort();
  dead.close();
});

testWithFixture("attempt() gets the lock when a process died with a run", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const dead = fixture.openDead();
  const members = groupOf("name", 3, 1_000);
  await queueUp(dead, ...members);
  await fixture.a.release(holder);
  const { fence, run } = await grantOf(dead, members[0]!);
  assertEquals(run?.length, 2);
  const waiter = claimOf();
  await queueUp(fixture.b, waiter);
  const asleep = sleeper(fixture.b, waiter);
  await fixture.clock.advance(1_000 + 25);
  assert(asleep.woken, "as soon as the lease has ended: the dead have no places");
  assert((await grantOf(fixture.b, waiter)).fence > fence + 2n);
  assertEquals(rows(fixture.path), [waiter.owner]);
  assert(await fixture.b.release(waiter));
  dead.close();
});

testWithFixture("attempt() ends a run at a member whose attempt or release is on its way", async (fixture) => {
  for (const busy of ["attempt", "release"] as const) {
    const { holder, members: [first, second, third] } = await waitingMembers(fixture);
    await fixture.a.release(holder);
    const writer = fixture.lock();
    const granted = grantOf(fixture.b, first);
    await settled();
    const call = busy === "attempt"
      ? fixture.b.attempt(second, { enqueue: true, steal: true })
      : fixture.b.release(second);
    await settled();
    writer[Symbol.dispose]();
    await fixture.clock.advance(10);
    assertEquals((await granted).run, [], busy);
    await call;
    for (const claim of [first, second, third]) await fixture.b.release(claim);
  }
});

testWithFixture("attempt() ends a run at a member that was woken and has not asked", async (fixture) => {
  const { holder, members: [first, second, third] } = await waitingMembers(fixture);
  const asleep = sleeper(fixture.b, second);
  // A poll that fails wakes everybody.
  fixture.sql("ALTER TABLE holdfast_holders RENAME TO away");
  await fixture.clock.advance(10);
  fixture.sql("ALTER TABLE away RENAME TO holdfast_holders");
  assert(asleep.woken);
  await fixture.a.release(holder);
  assertEquals((await grantOf(fixture.b, first)).run, []);
  await queueUp(fixture.b, second);
  await fixture.b.release(first);
  assertEquals((await grantOf(fixture.b, second)).run, handlesOf([third]));
  assert(await fixture.b.release(second));
});

testWithFixture("attempt() of a member has its place after half an hour without a place", async (fixture) => {
  const { holder, members: [first, second, third] } = await waitingMembers(fixture);
  await fixture.a.release(holder);
  await grantOf(fixture.b, first);
  const [last, passerBy] = [claimOf(), claimOf({ name: "other", lease: 1 })];
  await queueUp(fixture.b, last);
  const asleep = sleeper(fixture.b, last);
  for (let minutes = 0; minutes < 30; minutes++) {
    await fixture.clock.advance(LEASE / 2);
    assertEquals(await fixture.b.renew(first), "renewed");
    await fixture.clock.advance(LEASE / 2 - 1);
    assertEquals(await fixture.b.renew(first), "renewed");
    for (let writes = 0; writes < 20; writes++) await fixture.a.release(passerBy);
  }
  assertEquals(await pending(fixture), [last.owner], "no heartbeat restores their places");
  await queueUp(fixture.b, third, second);
  assertEquals(await pending(fixture), handlesOf([second, third, last]));
  asleep.over.abort();
  for (const claim of [first, second, third, last]) assert(await fixture.b.release(claim));
  assertEquals(fixture.clock.pending, 0);
});

testWithFixture("attempt() of a member has its place although its process was deleted", async (fixture) => {
  const { holder, members: [first, second, third] } = await waitingMembers(fixture);
  await fixture.a.release(holder);
  await grantOf(fixture.b, first);
  assertEquals(fixture.clock.pending, 0, "nobody waits");
  const last = claimOf();
  await queueUp(fixture.a, last);
  const asleep = sleeper(fixture.a, last);
  for (let minutes = 0; minutes < 11; minutes++) {
    await fixture.clock.advance(LEASE - 1);
    assertEquals(await fixture.b.renew(first), "renewed");
    for (let writes = 0; writes < 20; writes++) await fixture.a.release(claimOf());
  }
  await queueUp(fixture.b, third, second);
  assertEquals(await pending(fixture), handlesOf([second, third, last]));
  asleep.over.abort();
  for (const claim of [first, second, third, last]) assert(await fixture.b.release(claim));
});

testWithFixture("wakeup() of a waiter restores its place after a loss, and no member's", async (fixture) => {
  const { holder, members: [first, second, third] } = await waitingMembers(fixture);
  const last = claimOf();
  const asleep = [second, third, last].map((claim) => sleeper(fixture.b, claim));
  await fixture.a.release(holder);
  await queueUp(fixture.b, last);
  await grantOf(fixture.b, first);
  await queueUp(fixture.b, last);
  asleep.push(sleeper(fixture.b, last));
  fixture.sql("DELETE FROM holdfast_queue; DELETE FROM holdfast_clients");
  await fixture.clock.advance(1_000);
  assertEquals(await pending(fixture), [last.owner]);
  for (const { over } of asleep) over.abort();
  for (const claim of [first, last]) assert(await fixture.b.release(claim));
  for (const claim of [second, third]) assert(!await fixture.b.release(claim));
});

testWithFixture("attempt() that fails leaves all members in the queue, and polled for", async (fixture) => {
  const { holder, members: [first, second, third] } = await waitingMembers(fixture);
  const asleep = sleeper(fixture.b, second);
  await fixture.a.release(holder);
  fixture.sql(`CREATE TRIGGER broken BEFORE DELETE ON holdfast_queue WHEN old.handle = '${third.owner}'
    BEGIN SELECT RAISE(ABORT, 'broken'); END`);
  await assertRejects(() => fixture.b.attempt(first, { enqueue: true }), Error, "broken");
  fixture.sql("DROP TRIGGER broken");
  await fixture.clock.advance(500);
  assertEquals(await pending(fixture), handlesOf([first, second, third]));
  assert(await fixture.a.release(first));
  await fixture.clock.advance(30);
  assert(asleep.woken);
  assertEquals((await grantOf(fixture.b, second)).run, handlesOf([third]));
  assert(await fixture.b.release(second));
});

testWithFixture("attempt() takes no rival for a member whose handle begins like its own", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const [first, second] = groupOf("name", 2) as [Claim, Claim];
  // Some runtimes read text from a file up to the first NUL only.
  const rival = claimOf({ owner: `${second.owner}\0`, handle: `${second.owner}\0/handle` });
  await queueUp(fixture.b, first);
  await queueUp(fixture.a, rival);
  await queueUp(fixture.b, second);
  await fixture.a.release(holder);
  assertEquals((await grantOf(fixture.b, first)).run, []);
  for (const claim of [first, rival, second]) assert(await fixture.b.release(claim));
});

testWithFixture("forget() deletes the place of a member, and of nobody else", async (fixture) => {
  const { holder, members: [first, second, third] } = await waitingMembers(fixture);
  await fixture.a.release(holder);
  await grantOf(fixture.b, first);
  const rival = claimOf();
  await queueUp(fixture.b, rival);
  for (const claim of [first, second, rival]) fixture.b.forget(claim);
  await queueUp(fixture.b, second, third);
  assertEquals(await pending(fixture), handlesOf([third, rival, second]));
  fixture.b.forget(third);
  for (const [holds, next] of [[first, third], [third, rival], [rival, second]] as const) {
    const asleep = sleeper(fixture.b, next);
    assert(await fixture.b.release(holds));
    await settled();
    assert(asleep.woken, "it is still known here that it waits");
    await grantOf(fixture.b, next);
  }
  assert(await fixture.b.release(second));
  assertEquals(fixture.clock.pending, 0);
});

Deno.test("acquire() from a closed store rejects for the members of a run at once", async () => {
  const store = sqlite(":memory:");
  const holder = await acquire(store, "a");
  const waiters = [1, 2, 3].map(() => acquire(store, "a"));
  await until(async () => (await store.query()).pending.length === 3, "three wait");
  await holder.release();
  const head = (await waiters[0])!;
  const rejected = waiters.slice(1).map((waiter) => assertRejects(() => waiter, StoreError));
  store.close();
  await Promise.all(rejected);
  await assertRejects(() => head.release(), StoreError);
});
