import { assert, assertEquals } from "@std/assert";
import { ABANDONED, ask, claimOf, fenceOf, handles, LEASE, testWithFixture } from "./fixture.ts";

testWithFixture(
  "attempt() grants an exclusive lock after the last of all shared holders",
  async (fixture) => {
    const readers = Array.from({ length: 5 }, () => claimOf({ mode: "shared" }));
    const fences: bigint[] = [];
    for (const [i, reader] of readers.entries()) {
      fences.push(await fenceOf((i % 2 ? fixture.a : fixture.b).attempt(reader, { enqueue: false })));
    }
    assertEquals(new Set(fences).size, 5);
    assertEquals(fences.toSorted((a, b) => Number(a - b)), fences);
    const writer = claimOf();
    for (const reader of readers) {
      assertEquals(await ask(fixture.a, writer), false);
      assert(await fixture.b.release(reader));
    }
    assertEquals(await ask(fixture.a, writer), true);
    assertEquals(await ask(fixture.b, readers[0]!), false);
    await fixture.a.release(writer);
    assertEquals(await ask(fixture.b, readers[0]!), true);
    await fixture.b.release(readers[0]!);
  },
);

testWithFixture("attempt() lets no shared newcomer overtake a waiting exclusive one", async (fixture) => {
  const [reader, newcomer, passerBy] = [1, 2, 3].map(() => claimOf({ mode: "shared" }));
  const writer = claimOf();
  assertEquals(await ask(fixture.a, reader!), true);
  assertEquals(await ask(fixture.b, writer), false);
  assertEquals(await ask(fixture.a, newcomer!), false);
  assertEquals((await fixture.b.attempt(passerBy!, { enqueue: false })).granted, false);
  await fixture.a.release(reader!);
  assertEquals(await ask(fixture.a, newcomer!), false);
  assertEquals(await ask(fixture.b, writer), true);
  await fixture.b.release(writer);
  assertEquals(await ask(fixture.a, newcomer!), true);
  await fixture.a.release(newcomer!);
});

testWithFixture("attempt() grants consecutive shared waiters together, in any order", async (fixture) => {
  const first = claimOf();
  const [one, two, late] = [1, 2, 3].map(() => claimOf({ mode: "shared" }));
  const writer = claimOf();
  assertEquals(await ask(fixture.a, first), true);
  for (const claim of [one!, two!, writer, late!]) assertEquals(await ask(fixture.b, claim), false);
  await fixture.a.release(first);
  assertEquals(await ask(fixture.b, late!), false);
  assertEquals(await ask(fixture.b, two!), true);
  assertEquals(await ask(fixture.b, writer), false);
  assertEquals(await ask(fixture.b, one!), true);
  await fixture.b.release(one!);
  await fixture.b.release(two!);
  assertEquals(await ask(fixture.b, late!), false);
  assertEquals(await ask(fixture.b, writer), true);
  await fixture.b.release(writer);
  assertEquals(await ask(fixture.b, late!), true);
  await fixture.b.release(late!);
});

testWithFixture("attempt() keeps a lease for each shared holder", async (fixture) => {
  const [dies, renews] = [1, 2].map(() => claimOf({ mode: "shared" }));
  const writer = claimOf();
  assertEquals(await ask(fixture.a, dies!), true);
  assertEquals(await ask(fixture.b, renews!), true);
  await fixture.clock.advance(LEASE - 10);
  assertEquals(await fixture.b.renew(renews!), "renewed");
  await fixture.clock.advance(20);
  assertEquals(await fixture.a.renew(dies!), "lost");
  assertEquals(await fixture.a.release(dies!), false);
  assertEquals(await ask(fixture.a, writer), false);
  await fixture.clock.advance(LEASE);
  assertEquals(await ask(fixture.a, writer), true);
  assertEquals(await fixture.b.renew(renews!), "lost");
  await fixture.a.release(writer);
});

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

testWithFixture("attempt() reports a conflict when the number of permits differs", async (fixture) => {
  const [two, three, exclusive] = [claimOf({ permits: 2 }), claimOf({ permits: 3 }), claimOf()];
  assertEquals(await ask(fixture.a, two), true);
  assertEquals(await ask(fixture.b, three), { present: 2, own: false });
  assertEquals(await ask(fixture.b, exclusive), { present: 2, own: false });
  await fixture.a.release(two);
  assertEquals(await ask(fixture.b, exclusive), true);
  assertEquals(await ask(fixture.a, three), { present: "exclusive", own: false });
  await fixture.b.release(exclusive);
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

testWithFixture("attempt() grants an owner another handle with its fence, in any process", async (fixture) => {
  const [first, second, brief] = handles("me", {}, {}, { lease: 100 });
  const fence = await fenceOf(fixture.a.attempt(first!, { enqueue: false }));
  assertEquals(await fenceOf(fixture.b.attempt(second!, { enqueue: false })), fence);
  assertEquals(await fenceOf(fixture.b.attempt(second!, { enqueue: false })), fence, "a repeated request");
  assertEquals(await fenceOf(fixture.b.attempt(brief!, { enqueue: false })), fence);
  await fixture.clock.advance(200);
  assertEquals(await fixture.a.renew(first!), "renewed");
  assertEquals(await fixture.a.renew(brief!), "lost");
  const other = claimOf();
  assertEquals(await ask(fixture.a, other), false);
  assert(await fixture.a.release(first!));
  assert(!await fixture.a.release(first!));
  assertEquals(await ask(fixture.a, other), false);
  assert(await fixture.a.release(second!), "once is enough, though it was asked for twice");
  assertEquals(await ask(fixture.a, other), true);
  assert(await fenceOf(fixture.a.attempt(other, { enqueue: false })) > fence);
  await fixture.a.release(other);
});

testWithFixture("attempt() grants an owner ahead of the queue, without a second permit", async (fixture) => {
  const [first, second] = handles("me", { permits: 1 }, { permits: 1 });
  const other = claimOf({ permits: 1 });
  assertEquals(await ask(fixture.a, first!), true);
  assertEquals(await ask(fixture.b, other), false);
  assertEquals(await ask(fixture.b, second!), true);
  await fixture.a.release(first!);
  assertEquals(await ask(fixture.b, other), false);
  await fixture.a.release(second!);
  assertEquals(await ask(fixture.b, other), true);
  await fixture.b.release(other);
});

testWithFixture("attempt() lets no owner wait for itself", async (fixture) => {
  const [shared, exclusive, permit] = handles("me", { mode: "shared" }, {}, { permits: 2 });
  assertEquals(await ask(fixture.a, shared!), true);
  assertEquals(await ask(fixture.b, exclusive!), { present: "shared", own: true });
  assertEquals(await ask(fixture.b, permit!), { present: "shared", own: true });
  await fixture.a.release(shared!);
  // What the owner has alone it can share with itself, and with nobody else.
  assertEquals(await ask(fixture.a, exclusive!), true);
  assertEquals(await ask(fixture.b, shared!), true);
  const reader = claimOf({ mode: "shared" });
  assertEquals(await ask(fixture.a, reader), false);
  for (const claim of [exclusive!, shared!, reader]) assert(await fixture.b.release(claim));
});

testWithFixture("release() of the last exclusive handle leaves the kind of the others", async (fixture) => {
  for (const kind of [{ mode: "shared" }, { permits: 2 }] as const) {
    const [one, two, other] = handles("me", {}, {}, kind);
    const [beside, apart] = [claimOf(kind), claimOf()];
    for (const claim of [one!, two!, other!]) assertEquals(await ask(fixture.a, claim), true);
    assertEquals(await ask(fixture.b, beside), kind.mode === "shared" ? false : { present: "exclusive", own: false });
    assert(await fixture.a.release(one!));
    assertEquals(
      (await fixture.b.attempt(beside, { enqueue: false })).granted,
      false,
      "there is another exclusive handle",
    );
    assert(await fixture.a.release(two!));
    assertEquals(await ask(fixture.b, beside), true);
    assertEquals((await fixture.b.attempt(apart, { enqueue: false })).granted, false);
    for (const claim of [other!, beside]) assert(await fixture.a.release(claim));
  }
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
