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

/** Members of a group that wait in `site.b`, behind a holder in `site.a`. */
async function waitingMembers(site: Fixture): Promise<{ holder: Claim; members: Members }> {
  const holder = await holderOf(site.a);
  const members = groupOf("name", 3) as Members;
  await queueUp(site.b, ...members);
  return { holder, members };
}

testWithFixture("attempt() reserves fences of the file: other names get later ones", async (site) => {
  const [block, other] = [{ ...claimOf(), fences: 20 }, claimOf({ name: "other" })];
  const { fence, fences } = await grantOf(site.a, block);
  assertEquals(fences, 20);
  assertEquals((await grantOf(site.b, other)).fence, fence + 20n);
  for (const claim of [block, other]) assert(await site.a.release(claim));
});

testWithFixture("attempt() reserves fences to the last exact one, and then rejects", async (site) => {
  const last = BigInt(Number.MAX_SAFE_INTEGER);
  site.clock.setWall(Math.floor(Number.MAX_SAFE_INTEGER / 1_000) - 5 - site.clock.now().wall);
  const block = { ...claimOf(), fences: 1_000_000 };
  const { fence, fences } = await grantOf(site.a, block);
  assertEquals(fence + BigInt(fences! - 1), last);
  await assertRejects(() => site.b.attempt(claimOf({ name: "other" }), { enqueue: false }), Error, "2^53");
  assert(await site.a.release(block));
});

testWithFixture("attempt() takes members out of the file, and only their own process's", async (site) => {
  const { holder, members } = await waitingMembers(site);
  // As if the UUID of the group were known there.
  const stranger = { ...claimOf(), group: members[0].group };
  await queueUp(site.a, stranger);
  await site.a.release(holder);
  const { fence, run, contended } = await grantOf(site.b, members[0]);
  assertEquals([run, contended], [handlesOf(members.slice(1)), true]);
  assertEquals(rows(site.path), handlesOf([members[0], stranger]));
  assert(await site.b.release(members[0]));
  const next = await grantOf(site.a, stranger);
  assertEquals([next.fence, next.run, next.contended], [fence + 3n, [], false]);
  assert(await site.a.release(stranger));
});

testWithFixture("attempt() says whether others wait only if that costs nothing or is asked", async (site) => {
  const [plain, waiter, last] = [claimOf(), claimOf(), claimOf()];
  assertEquals((await grantOf(site.a, plain)).contended, false);
  await queueUp(site.b, waiter, last);
  assertEquals((await grantOf(site.a, plain)).contended, undefined);
  assertEquals((await grantOf(site.a, { ...plain, fences: 2 })).contended, true);
  await site.a.release(plain);
  assertEquals((await grantOf(site.b, waiter)).contended, undefined);
  await site.b.release(last);
  assertEquals((await grantOf(site.b, { ...waiter, fences: 2 })).contended, false);
  assert(await site.b.release(waiter));
});

testWithFixture("attempt() with steal takes nobody along, also for a waiter that steals", async (site) => {
  const { holder, members: [first, second, third] } = await waitingMembers(site);
  const attempt = await site.b.attempt(second, { enqueue: true, steal: true });
  assert(attempt.granted);
  assertEquals([attempt.run, attempt.contended], [[], true]);
  assertEquals(await pending(site), handlesOf([first, third]));
  for (const claim of [second, first, third]) assert(await site.b.release(claim));
  assert(!await site.a.release(holder));
});

testWithFixture("attempt() ends a run after 100 others", async (site) => {
  const holder = await holderOf(site.a);
  const members = groupOf("name", 150);
  await queueUp(site.b, ...members);
  await site.a.release(holder);
  const first = await grantOf(site.b, members[0]!);
  assertEquals([first.run, first.contended], [handlesOf(members.slice(1, 101)), true]);
  await site.b.release(members[0]!);
  const second = await grantOf(site.b, members[101]!);
  assertEquals([second.run, second.contended], [handlesOf(members.slice(102)), false]);
  await site.b.release(members[101]!);
});

testWithFixture("attempt() shortens a run whose fences would be too far ahead", async (site) => {
  const { holder, members } = await waitingMembers(site);
  const block = { ...claimOf({ name: "other" }), fences: 9_998 };
  await grantOf(site.a, block);
  await site.a.release(holder);
  const first = await grantOf(site.b, members[0]);
  assertEquals([first.run, first.contended], [handlesOf(members.slice(1, 2)), true]);
  assertEquals(rows(site.path).length, 3);
  assert(await site.a.release(block));
  for (const claim of [members[0], members[2]]) assert(await site.b.release(claim));
});

testWithFixture("attempt() ends a run at a waiter for a permit", async (site) => {
  const { holder, members: [first, second] } = await waitingMembers(site);
  const last = { ...claimOf(), group: first.group };
  await site.a.release(holder);
  await queueUp(site.b, kindOf("name", 2), last);
  const { pending: waiting } = await site.b.query();
  const permit = waiting.find(({ permits }) => permits === 2)!;
  assertEquals((await grantOf(site.b, first)).run?.[0], handlesOf([second])[0]);
  assertEquals(await pending(site), [permit.owner, last.owner]);
  for (const claim of [first, { ...permit, meta: undefined, lease: 1 }, last]) assert(await site.b.release(claim));
});

testWithFixture("attempt() takes members along past the waiter of a dead process", async (site) => {
  const holder = await holderOf(site.a, { lease: 3_600_000 });
  const [dead, gone, members] = [site.openDead(), claimOf(), groupOf("name", 2)];
  const asleep = [];
  await queueUp(site.b, members[0]!);
  await queueUp(dead, gone);
  await queueUp(site.b, members[1]!);
  for (const claim of members) asleep.push(sleeper(site.b, claim));
  await site.clock.advance(5_000);
  await site.a.release(holder);
  await site.clock.advance(500);
  assertEquals(asleep.map(({ woken }) => woken), [true, false]);
  const { run, contended } = await grantOf(site.b, members[0]!);
  assertEquals([run, contended], [handlesOf(members.slice(1)), false]);
  for (const claim of [members[0]!, gone]) assert(await site.b.release(claim));
  asleep[1]!.over.abort();
  dead.close();
});

testWithFixture("attempt() gets the lock when a process died with a run", async (site) => {
  const holder = await holderOf(site.a);
  const dead = site.openDead();
  const members = groupOf("name", 3, 1_000);
  await queueUp(dead, ...members);
  await site.a.release(holder);
  const { fence, run } = await grantOf(dead, members[0]!);
  assertEquals(run?.length, 2);
  const waiter = claimOf();
  await queueUp(site.b, waiter);
  const asleep = sleeper(site.b, waiter);
  await site.clock.advance(1_000 + 25);
  assert(asleep.woken, "as soon as the lease has ended: the dead have no places");
  assert((await grantOf(site.b, waiter)).fence > fence + 2n);
  assertEquals(rows(site.path), [waiter.owner]);
  assert(await site.b.release(waiter));
  dead.close();
});

testWithFixture("attempt() ends a run at a member whose attempt or release is on its way", async (site) => {
  for (const busy of ["attempt", "release"] as const) {
    const { holder, members: [first, second, third] } = await waitingMembers(site);
    await site.a.release(holder);
    const writer = site.lock();
    const granted = grantOf(site.b, first);
    await settled();
    const call = busy === "attempt" ? site.b.attempt(second, { enqueue: true, steal: true }) : site.b.release(second);
    await settled();
    writer[Symbol.dispose]();
    await site.clock.advance(10);
    assertEquals((await granted).run, [], busy);
    await call;
    for (const claim of [first, second, third]) await site.b.release(claim);
  }
});

testWithFixture("attempt() ends a run at a member that was woken and has not asked", async (site) => {
  const { holder, members: [first, second, third] } = await waitingMembers(site);
  const asleep = sleeper(site.b, second);
  // A poll that fails wakes everybody.
  site.sql("ALTER TABLE holdfast_holders RENAME TO away");
  await site.clock.advance(10);
  site.sql("ALTER TABLE away RENAME TO holdfast_holders");
  assert(asleep.woken);
  await site.a.release(holder);
  assertEquals((await grantOf(site.b, first)).run, []);
  await queueUp(site.b, second);
  await site.b.release(first);
  assertEquals((await grantOf(site.b, second)).run, handlesOf([third]));
  assert(await site.b.release(second));
});

testWithFixture("attempt() of a member has its place after half an hour without a place", async (site) => {
  const { holder, members: [first, second, third] } = await waitingMembers(site);
  await site.a.release(holder);
  await grantOf(site.b, first);
  const [last, passerBy] = [claimOf(), claimOf({ name: "other", lease: 1 })];
  await queueUp(site.b, last);
  const asleep = sleeper(site.b, last);
  for (let minutes = 0; minutes < 30; minutes++) {
    await site.clock.advance(LEASE / 2);
    assertEquals(await site.b.renew(first), "renewed");
    await site.clock.advance(LEASE / 2 - 1);
    assertEquals(await site.b.renew(first), "renewed");
    for (let writes = 0; writes < 20; writes++) await site.a.release(passerBy);
  }
  assertEquals(await pending(site), [last.owner], "no heartbeat restores their places");
  await queueUp(site.b, third, second);
  assertEquals(await pending(site), handlesOf([second, third, last]));
  asleep.over.abort();
  for (const claim of [first, second, third, last]) assert(await site.b.release(claim));
  assertEquals(site.clock.pending, 0);
});

testWithFixture("attempt() of a member has its place although its process was deleted", async (site) => {
  const { holder, members: [first, second, third] } = await waitingMembers(site);
  await site.a.release(holder);
  await grantOf(site.b, first);
  assertEquals(site.clock.pending, 0, "nobody waits");
  const last = claimOf();
  await queueUp(site.a, last);
  const asleep = sleeper(site.a, last);
  for (let minutes = 0; minutes < 11; minutes++) {
    await site.clock.advance(LEASE - 1);
    assertEquals(await site.b.renew(first), "renewed");
    for (let writes = 0; writes < 20; writes++) await site.a.release(claimOf());
  }
  await queueUp(site.b, third, second);
  assertEquals(await pending(site), handlesOf([second, third, last]));
  asleep.over.abort();
  for (const claim of [first, second, third, last]) assert(await site.b.release(claim));
});

testWithFixture("wakeup() of a waiter restores its place after a loss, and no member's", async (site) => {
  const { holder, members: [first, second, third] } = await waitingMembers(site);
  const last = claimOf();
  const asleep = [second, third, last].map((claim) => sleeper(site.b, claim));
  await site.a.release(holder);
  await queueUp(site.b, last);
  await grantOf(site.b, first);
  await queueUp(site.b, last);
  asleep.push(sleeper(site.b, last));
  site.sql("DELETE FROM holdfast_queue; DELETE FROM holdfast_clients");
  await site.clock.advance(1_000);
  assertEquals(await pending(site), [last.owner]);
  for (const { over } of asleep) over.abort();
  for (const claim of [first, last]) assert(await site.b.release(claim));
  for (const claim of [second, third]) assert(!await site.b.release(claim));
});

testWithFixture("attempt() that fails leaves all members in the queue, and polled for", async (site) => {
  const { holder, members: [first, second, third] } = await waitingMembers(site);
  const asleep = sleeper(site.b, second);
  await site.a.release(holder);
  site.sql(`CREATE TRIGGER broken BEFORE DELETE ON holdfast_queue WHEN old.handle = '${third.owner}'
    BEGIN SELECT RAISE(ABORT, 'broken'); END`);
  await assertRejects(() => site.b.attempt(first, { enqueue: true }), Error, "broken");
  site.sql("DROP TRIGGER broken");
  await site.clock.advance(500);
  assertEquals(await pending(site), handlesOf([first, second, third]));
  assert(await site.a.release(first));
  await site.clock.advance(30);
  assert(asleep.woken);
  assertEquals((await grantOf(site.b, second)).run, handlesOf([third]));
  assert(await site.b.release(second));
});

testWithFixture("attempt() takes no stranger for a member whose handle begins like its own", async (site) => {
  const holder = await holderOf(site.a);
  const [first, second] = groupOf("name", 2) as [Claim, Claim];
  // Some runtimes read text from a file up to the first NUL only.
  const stranger = claimOf({ owner: `${second.owner}\0`, handle: `${second.owner}\0/handle` });
  await queueUp(site.b, first);
  await queueUp(site.a, stranger);
  await queueUp(site.b, second);
  await site.a.release(holder);
  assertEquals((await grantOf(site.b, first)).run, []);
  for (const claim of [first, stranger, second]) assert(await site.b.release(claim));
});

testWithFixture("forget() deletes the place of a member, and of nobody else", async (site) => {
  const { holder, members: [first, second, third] } = await waitingMembers(site);
  await site.a.release(holder);
  await grantOf(site.b, first);
  const stranger = claimOf();
  await queueUp(site.b, stranger);
  for (const claim of [first, second, stranger]) site.b.forget(claim);
  await queueUp(site.b, second, third);
  assertEquals(await pending(site), handlesOf([third, stranger, second]));
  site.b.forget(third);
  for (const [holds, next] of [[first, third], [third, stranger], [stranger, second]] as const) {
    const asleep = sleeper(site.b, next);
    assert(await site.b.release(holds));
    await settled();
    assert(asleep.woken, "it is still known here that it waits");
    await grantOf(site.b, next);
  }
  assert(await site.b.release(second));
  assertEquals(site.clock.pending, 0);
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
