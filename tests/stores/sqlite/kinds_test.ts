import { assert, assertEquals } from "@std/assert";
import { ABANDONED, ask, claimOf, fenceOf, handles, LEASE, testWithFixture } from "./fixture.ts";

testWithFixture(
  "attempt() grants an exclusive lock after the last of all shared holders",
  async (site) => {
    const readers = Array.from({ length: 5 }, () => claimOf({ mode: "shared" }));
    const fences: bigint[] = [];
    for (const [i, reader] of readers.entries()) {
      fences.push(await fenceOf((i % 2 ? site.a : site.b).attempt(reader, { enqueue: false })));
    }
    assertEquals(new Set(fences).size, 5);
    assertEquals(fences.toSorted((a, b) => Number(a - b)), fences);
    const writer = claimOf();
    for (const reader of readers) {
      assertEquals(await ask(site.a, writer), false);
      assert(await site.b.release(reader));
    }
    assertEquals(await ask(site.a, writer), true);
    assertEquals(await ask(site.b, readers[0]!), false);
    await site.a.release(writer);
    assertEquals(await ask(site.b, readers[0]!), true);
    await site.b.release(readers[0]!);
  },
);

testWithFixture("attempt() lets no shared newcomer overtake a waiting exclusive one", async (site) => {
  const [reader, newcomer, passerBy] = [1, 2, 3].map(() => claimOf({ mode: "shared" }));
  const writer = claimOf();
  assertEquals(await ask(site.a, reader!), true);
  assertEquals(await ask(site.b, writer), false);
  assertEquals(await ask(site.a, newcomer!), false);
  assertEquals((await site.b.attempt(passerBy!, { enqueue: false })).granted, false);
  await site.a.release(reader!);
  assertEquals(await ask(site.a, newcomer!), false);
  assertEquals(await ask(site.b, writer), true);
  await site.b.release(writer);
  assertEquals(await ask(site.a, newcomer!), true);
  await site.a.release(newcomer!);
});

testWithFixture("attempt() grants consecutive shared waiters together, in any order", async (site) => {
  const first = claimOf();
  const [one, two, late] = [1, 2, 3].map(() => claimOf({ mode: "shared" }));
  const writer = claimOf();
  assertEquals(await ask(site.a, first), true);
  for (const claim of [one!, two!, writer, late!]) assertEquals(await ask(site.b, claim), false);
  await site.a.release(first);
  assertEquals(await ask(site.b, late!), false);
  assertEquals(await ask(site.b, two!), true);
  assertEquals(await ask(site.b, writer), false);
  assertEquals(await ask(site.b, one!), true);
  await site.b.release(one!);
  await site.b.release(two!);
  assertEquals(await ask(site.b, late!), false);
  assertEquals(await ask(site.b, writer), true);
  await site.b.release(writer);
  assertEquals(await ask(site.b, late!), true);
  await site.b.release(late!);
});

testWithFixture("attempt() keeps a lease for each shared holder", async (site) => {
  const [dies, renews] = [1, 2].map(() => claimOf({ mode: "shared" }));
  const writer = claimOf();
  assertEquals(await ask(site.a, dies!), true);
  assertEquals(await ask(site.b, renews!), true);
  await site.clock.advance(LEASE - 10);
  assertEquals(await site.b.renew(renews!), "renewed");
  await site.clock.advance(20);
  assertEquals(await site.a.renew(dies!), "lost");
  assertEquals(await site.a.release(dies!), false);
  assertEquals(await ask(site.a, writer), false);
  await site.clock.advance(LEASE);
  assertEquals(await ask(site.a, writer), true);
  assertEquals(await site.b.renew(renews!), "lost");
  await site.a.release(writer);
});

testWithFixture("attempt() skips a dead exclusive waiter", async (site) => {
  const [one, two] = [1, 2].map(() => claimOf({ mode: "shared" }));
  const dead = claimOf();
  assertEquals(await ask(site.a, one!), true);
  assertEquals(await ask(site.b, dead), false);
  assertEquals(await ask(site.b, two!), false);
  await site.clock.advance(ABANDONED);
  assertEquals(await ask(site.b, two!), true);
  for (const claim of [one!, two!, dead]) await site.a.release(claim);
});

testWithFixture(
  "attempt() grants permits in order, also those of dead holders",
  async (site) => {
    const [one, two, three, four, five] = Array.from({ length: 5 }, () => claimOf({ permits: 2 }));
    assertEquals(await ask(site.a, one!), true);
    assertEquals(await ask(site.b, two!), true);
    await site.clock.advance(LEASE / 2);
    for (const claim of [three!, four!, five!]) assertEquals(await ask(site.b, claim), false);
    await site.a.release(one!);
    // One is free, and meant for the first of them.
    assertEquals(await ask(site.b, four!), false);
    assertEquals(await ask(site.b, three!), true);
    assertEquals(await ask(site.b, four!), false);
    await site.clock.advance(LEASE / 2 + 10);
    for (const claim of [three!, four!, five!]) assertEquals(await ask(site.b, claim), claim !== five);
    assertEquals(await site.b.renew(two!), "lost");
    // Two are free, and both meant for those ahead.
    await site.a.release(three!);
    await site.a.release(four!);
    const [six, seven] = [claimOf({ permits: 2 }), claimOf({ permits: 2 })];
    assertEquals(await ask(site.a, six), true);
    assertEquals(await ask(site.a, seven), false);
    for (const claim of [five!, six]) assertEquals(await ask(site.b, claim), true);
    for (const claim of [five!, six, seven]) assert(await site.b.release(claim));
  },
);

testWithFixture("attempt() reports a conflict when the number of permits differs", async (site) => {
  const [two, three, exclusive] = [claimOf({ permits: 2 }), claimOf({ permits: 3 }), claimOf()];
  assertEquals(await ask(site.a, two), true);
  assertEquals(await ask(site.b, three), { present: 2, own: false });
  assertEquals(await ask(site.b, exclusive), { present: 2, own: false });
  await site.a.release(two);
  assertEquals(await ask(site.b, exclusive), true);
  assertEquals(await ask(site.a, three), { present: "exclusive", own: false });
  await site.b.release(exclusive);
  // Who waits already came when that was all right.
  const waiter = claimOf();
  assertEquals(await ask(site.a, exclusive), true);
  assertEquals(await ask(site.b, waiter), false);
  await site.a.release(exclusive);
  await site.clock.advance(ABANDONED);
  assertEquals(await ask(site.a, three), true);
  assertEquals(await ask(site.b, waiter), false);
  await site.a.release(three);
  assertEquals(await ask(site.b, waiter), true);
  await site.b.release(waiter);
});

testWithFixture("attempt() grants an owner another handle with its fence, in any process", async (site) => {
  const [first, second, brief] = handles("me", {}, {}, { lease: 100 });
  const fence = await fenceOf(site.a.attempt(first!, { enqueue: false }));
  assertEquals(await fenceOf(site.b.attempt(second!, { enqueue: false })), fence);
  assertEquals(await fenceOf(site.b.attempt(second!, { enqueue: false })), fence, "a repeated request");
  assertEquals(await fenceOf(site.b.attempt(brief!, { enqueue: false })), fence);
  await site.clock.advance(200);
  assertEquals(await site.a.renew(first!), "renewed");
  assertEquals(await site.a.renew(brief!), "lost");
  const other = claimOf();
  assertEquals(await ask(site.a, other), false);
  assert(await site.a.release(first!));
  assert(!await site.a.release(first!));
  assertEquals(await ask(site.a, other), false);
  assert(await site.a.release(second!), "once is enough, though it was asked for twice");
  assertEquals(await ask(site.a, other), true);
  assert(await fenceOf(site.a.attempt(other, { enqueue: false })) > fence);
  await site.a.release(other);
});

testWithFixture("attempt() grants an owner ahead of the queue, without a second permit", async (site) => {
  const [first, second] = handles("me", { permits: 1 }, { permits: 1 });
  const other = claimOf({ permits: 1 });
  assertEquals(await ask(site.a, first!), true);
  assertEquals(await ask(site.b, other), false);
  assertEquals(await ask(site.b, second!), true);
  await site.a.release(first!);
  assertEquals(await ask(site.b, other), false);
  await site.a.release(second!);
  assertEquals(await ask(site.b, other), true);
  await site.b.release(other);
});

testWithFixture("attempt() lets no owner wait for itself", async (site) => {
  const [shared, exclusive, permit] = handles("me", { mode: "shared" }, {}, { permits: 2 });
  assertEquals(await ask(site.a, shared!), true);
  assertEquals(await ask(site.b, exclusive!), { present: "shared", own: true });
  assertEquals(await ask(site.b, permit!), { present: "shared", own: true });
  await site.a.release(shared!);
  // What the owner has alone it can share with itself, and with nobody else.
  assertEquals(await ask(site.a, exclusive!), true);
  assertEquals(await ask(site.b, shared!), true);
  const reader = claimOf({ mode: "shared" });
  assertEquals(await ask(site.a, reader), false);
  for (const claim of [exclusive!, shared!, reader]) assert(await site.b.release(claim));
});

testWithFixture("release() of the last exclusive handle leaves the kind of the others", async (site) => {
  for (const kind of [{ mode: "shared" }, { permits: 2 }] as const) {
    const [one, two, other] = handles("me", {}, {}, kind);
    const [beside, apart] = [claimOf(kind), claimOf()];
    for (const claim of [one!, two!, other!]) assertEquals(await ask(site.a, claim), true);
    assertEquals(await ask(site.b, beside), kind.mode === "shared" ? false : { present: "exclusive", own: false });
    assert(await site.a.release(one!));
    assertEquals(
      (await site.b.attempt(beside, { enqueue: false })).granted,
      false,
      "there is another exclusive handle",
    );
    assert(await site.a.release(two!));
    assertEquals(await ask(site.b, beside), true);
    assertEquals((await site.b.attempt(apart, { enqueue: false })).granted, false);
    for (const claim of [other!, beside]) assert(await site.a.release(claim));
  }
});

testWithFixture("wakeup() resolves for all shared waiters when the lock becomes shared", async (site) => {
  const [exclusive, shared] = handles("me", {}, { mode: "shared" });
  for (const claim of [exclusive!, shared!]) assertEquals(await ask(site.a, claim), true);
  const readers = [1, 2, 3].map(() => claimOf({ mode: "shared" }));
  for (const reader of readers) assertEquals(await ask(site.b, reader), false);
  const woken = readers.map((reader) => site.b.wakeup(reader, new AbortController().signal));
  assert(await site.a.release(exclusive!));
  await site.clock.advance(100);
  await Promise.all(woken);
  for (const reader of readers) assertEquals(await ask(site.b, reader), true);
  for (const claim of [shared!, ...readers]) assert(await site.b.release(claim));
});

testWithFixture("attempt() grants a shared newcomer beside shared waiters whose turn it is", async (site) => {
  const holder = claimOf();
  const [waiter, newcomer] = [claimOf({ mode: "shared" }), claimOf({ mode: "shared" })];
  assertEquals(await ask(site.a, holder), true);
  assertEquals(await ask(site.b, waiter), false);
  await site.a.release(holder);
  assertEquals((await site.a.attempt(newcomer, { enqueue: false })).granted, true);
  assertEquals(await ask(site.b, waiter), true);
  for (const claim of [waiter, newcomer]) assert(await site.b.release(claim));
});

testWithFixture("attempt() lets one owner wait for two locks at once", async (site) => {
  const names = ["one", "two"];
  const holders = names.map((name) => claimOf({ name }));
  for (const holder of holders) assertEquals(await ask(site.a, holder), true);
  const waiters = names.map((name) => claimOf({ name, owner: "me" }));
  for (const waiter of waiters) assertEquals(await ask(site.b, waiter), false);
  assertEquals((await site.a.query()).pending.map(({ name }) => name), names);
  for (const claim of [...holders, ...waiters]) assert(await site.b.release(claim));
});

testWithFixture("attempt() reports no conflict while a lock has only waiters", async (site) => {
  const [holder, first, second] = Array.from({ length: 3 }, () => claimOf({ permits: 1 }));
  assertEquals(await ask(site.a, holder!), true);
  assertEquals(await ask(site.a, first!), false);
  assert(await site.a.release(holder!));
  assertEquals(await ask(site.b, second!), false, "no conflict: nobody holds another kind");
  for (const claim of [first!, second!]) assert(await site.a.release(claim));
});
