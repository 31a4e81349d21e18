import { assert, assertEquals } from "@std/assert";
import { ABANDONED, ask, claimOf, handles, LEASE, testWithFixture } from "./fixture.ts";

testWithFixture("attempt() skips a dead exclusive waiter", async (fixture) => {
  const [one, two] = [1, 2].map(() => claimOf({ mode: "shared" }));
  const dead = claimOf();
  assertEquals(await ask(fixture.a, one!), true);
  assertEquals(await ask(fixture.b, dead), false);
  assertEquals(await ask(fixture.b, two!), false);
  await fixture.clock.advance(ABANDONED);
  assertEquals(await ask(fixture.b, two!), true);
  for (const claim of [one!, two!, dead]) await fixture.a.release(claim);
});

testWithFixture(
  "attempt() grants permits in order, also those of dead holders",
  async (fixture) => {
    const [one, two, three, four, five] = Array.from({ length: 5 }, () => claimOf({ permits: 2 }));
    assertEquals(await ask(fixture.a, one!), true);
    assertEquals(await ask(fixture.b, two!), true);
    await fixture.clock.advance(LEASE / 2);
    for (const claim of [three!, four!, five!]) assertEquals(await ask(fixture.b, claim), false);
    await fixture.a.release(one!);
    // One is free, and meant for the first of them.
    assertEquals(await ask(fixture.b, four!), false);
    assertEquals(await ask(fixture.b, three!), true);
    assertEquals(await ask(fixture.b, four!), false);
    await fixture.clock.advance(LEASE / 2 + 10);
    for (const claim of [three!, four!, five!]) assertEquals(await ask(fixture.b, claim), claim !== five);
    assertEquals(await fixture.b.renew(two!), "lost");
    // Two are free, and both meant for those ahead.
    await fixture.a.release(three!);
    await fixture.a.release(four!);
    const [six, seven] = [claimOf({ permits: 2 }), claimOf({ permits: 2 })];
    assertEquals(await ask(fixture.a, six), true);
    assertEquals(await ask(fixture.a, seven), false);
    for (const claim of [five!, six]) assertEquals(await ask(fixture.b, claim), true);
    for (const claim of [five!, six, seven]) assert(await fixture.b.release(claim));
  },
);

testWithFixture("attempt() keeps the place of a waiter whose permits differ from the holders'", async (fixture) => {
  const [three, exclusive] = [claimOf({ permits: 3 }), claimOf()];
  // Who waits already came when that was all right.
  const waiter = claimOf();
  assertEquals(await ask(fixture.a, exclusive), true);
  assertEquals(await ask(fixture.b, waiter), false);
  await fixture.a.release(exclusive);
  await fixture.clock.advance(ABANDONED);
  assertEquals(await ask(fixture.a, three), true);
  assertEquals(await ask(fixture.b, waiter), false);
  await fixture.a.release(three);
  assertEquals(await ask(fixture.b, waiter), true);
  await fixture.b.release(waiter);
});

testWithFixture("wakeup() resolves for all shared waiters when the lock becomes shared", async (fixture) => {
  const [exclusive, shared] = handles("me", {}, { mode: "shared" });
  for (const claim of [exclusive!, shared!]) assertEquals(await ask(fixture.a, claim), true);
  const readers = [1, 2, 3].map(() => claimOf({ mode: "shared" }));
  for (const reader of readers) assertEquals(await ask(fixture.b, reader), false);
  const woken = readers.map((reader) => fixture.b.wakeup(reader, new AbortController().signal));
  assert(await fixture.a.release(exclusive!));
  await fixture.clock.advance(100);
  await Promise.all(woken);
  for (const reader of readers) assertEquals(await ask(fixture.b, reader), true);
  for (const claim of [shared!, ...readers]) assert(await fixture.b.release(claim));
});

testWithFixture("attempt() grants a shared newcomer beside shared waiters whose turn it is", async (fixture) => {
  const holder = claimOf();
  const [waiter, newcomer] = [claimOf({ mode: "shared" }), claimOf({ mode: "shared" })];
  assertEquals(await ask(fixture.a, holder), true);
  assertEquals(await ask(fixture.b, waiter), false);
  await fixture.a.release(holder);
  assertEquals((await fixture.a.attempt(newcomer, { enqueue: false })).granted, true);
  assertEquals(await ask(fixture.b, waiter), true);
  for (const claim of [waiter, newcomer]) assert(await fixture.b.release(claim));
});

testWithFixture("attempt() lets one owner wait for two locks at once", async (fixture) => {
  const names = ["one", "two"];
  const holders = names.map((name) => claimOf({ name }));
  for (const holder of holders) assertEquals(await ask(fixture.a, holder), true);
  const waiters = names.map((name) => claimOf({ name, owner: "me" }));
  for (const waiter of waiters) assertEquals(await ask(fixture.b, waiter), false);
  assertEquals((await fixture.a.query()).pending.map(({ name }) => name), names);
  for (const claim of [...holders, ...waiters]) assert(await fixture.b.release(claim));
});

testWithFixture("attempt() reports no conflict while a lock has only waiters", async (fixture) => {
  const [holder, first, second] = Array.from({ length: 3 }, () => claimOf({ permits: 1 }));
  assertEquals(await ask(fixture.a, holder!), true);
  assertEquals(await ask(fixture.a, first!), false);
  assert(await fixture.a.release(holder!));
  assertEquals(await ask(fixture.b, second!), false, "no conflict: nobody holds another kind");
  for (const claim of [first!, second!]) assert(await fixture.a.release(claim));
});

testWithFixture("evict() takes the lock from all holders, and leaves the queue", async (fixture) => {
  assertEquals(await fixture.a.evict("name"), 0);
  const readers = [claimOf({ mode: "shared" }), claimOf({ mode: "shared" })];
  const [brief, other] = [claimOf({ mode: "shared", lease: 100 }), claimOf({ name: "other" })];
  const writer = claimOf();
  for (const claim of [...readers, brief, other]) assertEquals(await ask(fixture.a, claim), true);
  await fixture.clock.advance(200);
  assertEquals(await ask(fixture.a, writer), false);
  assertEquals(await fixture.b.evict("name"), 2);
  for (const reader of readers) assertEquals(await fixture.a.renew(reader), "lost");
  assertEquals(await fixture.a.renew(other), "renewed");
  assertEquals(await ask(fixture.a, writer), true);
  for (const claim of [writer, other]) assert(await fixture.a.release(claim));
});
