import { assert, assertEquals } from "@std/assert";
import { ask, claimOf, fenceOf, handles, LEASE, testWithFixture } from "./fixture.ts";

testWithFixture("FileStore treats a lease as expired in the millisecond in which it ends", async (fixture) => {
  const names = ["renew", "release", "evict", "attempt", "stays"];
  for (const name of names) assertEquals(await ask(fixture.a, claimOf({ name, owner: "first" })), true);
  await fixture.clock.advance(LEASE - 1);
  const { held } = await fixture.a.query();
  assertEquals(held.map(({ name }) => name), names.toSorted());
  await fixture.clock.advance(1);
  assertEquals((await fixture.a.query()).held, []);
  const first = (name: string) => claimOf({ name, owner: "first" });
  assertEquals(await fixture.a.renew(first("renew")), "lost");
  assertEquals(await fixture.a.release(first("release")), false);
  assertEquals(await fixture.b.evict("evict"), 0);
  const second = claimOf({ name: "attempt", owner: "second" });
  assertEquals(await ask(fixture.b, second), true);
  // Also when the clock is put back: who has it now has it alone.
  fixture.clock.setWall(-1_000);
  assertEquals(await fixture.a.renew(first("attempt")), "lost");
  fixture.clock.setWall(1_000);
  assert(await fixture.b.release(second));
  for (const name of names) assertEquals(await fixture.a.release(first(name)), false);
});

testWithFixture("attempt() grants a permit in the millisecond in which its lease ends", async (fixture) => {
  const [first, second, third] = [1, 2, 3].map((n) => claimOf({ permits: 2, lease: n === 1 ? LEASE / 2 : LEASE }));
  for (const claim of [first!, second!]) assertEquals(await ask(fixture.a, claim), true);
  await fixture.clock.advance(LEASE / 2 - 1);
  assertEquals(await ask(fixture.b, third!), false);
  await fixture.clock.advance(1);
  assertEquals(await ask(fixture.b, third!), true);
  for (const claim of [second!, third!]) assert(await fixture.a.release(claim));
});

testWithFixture("attempt() cuts only overlong leases after the clock was set back", async (fixture) => {
  const [late, other] = [claimOf({ mode: "shared", lease: 10 * LEASE }), claimOf({ mode: "shared" })];
  const elsewhere = claimOf({ name: "elsewhere" });
  for (const claim of [late, other, elsewhere]) assertEquals(await ask(fixture.a, claim), true);
  await fixture.clock.advance(30_000);
  assertEquals(await fixture.a.renew(late), "renewed");
  fixture.clock.setWall(-10_000);
  const reader = claimOf({ mode: "shared" });
  assertEquals(await ask(fixture.b, reader), true);
  await fixture.clock.advance(LEASE - 30_000 + 10_000 - 1);
  for (const claim of [other, elsewhere]) assertEquals(await fixture.a.renew({ ...claim, lease: 1 }), "renewed");
  await fixture.clock.advance(1);
  for (const claim of [other, elsewhere]) assertEquals(await fixture.a.renew(claim), "lost");
  await fixture.clock.advance(9 * LEASE);
  assertEquals(await fixture.a.renew(late), "renewed");
  await fixture.clock.advance(10 * LEASE);
  assertEquals(await fixture.a.renew(late), "lost");
  for (const claim of [late, other, elsewhere, reader]) assert(!await fixture.a.release(claim));
});

testWithFixture("attempt() again with a shorter lease does not make an overlong lease", async (fixture) => {
  const [claim, other] = [claimOf(), claimOf()];
  for (const lease of [LEASE, LEASE / 10]) assertEquals(await ask(fixture.a, { ...claim, lease }), true);
  assertEquals(await ask(fixture.b, other), false);
  await fixture.clock.advance(LEASE - 1);
  assertEquals(await fixture.a.renew({ ...claim, lease: 1 }), "renewed");
  for (const [store, each] of [[fixture.a, claim], [fixture.b, other]] as const) await store.release(each);
});

testWithFixture("renew() with a longer lease does not make an overlong lease", async (fixture) => {
  const claim = claimOf({ lease: 1_000 });
  assertEquals(await ask(fixture.a, claim), true);
  assertEquals(await fixture.a.renew({ ...claim, lease: 10_000 }), "renewed");
  const other = claimOf();
  assertEquals((await fixture.b.attempt(other, { enqueue: false })).granted, false);
  await fixture.clock.advance(9_999);
  assertEquals(await fixture.a.renew(claim), "renewed");
  await fixture.clock.advance(999);
  assertEquals((await fixture.b.attempt(other, { enqueue: false })).granted, false);
  await fixture.clock.advance(1);
  assertEquals(await ask(fixture.b, other), true);
  assert(await fixture.b.release(other));
});

testWithFixture("attempt() grants fences in microseconds that rise by at least one", async (fixture) => {
  const { wall } = fixture.clock.now();
  for (const step of [0n, 1n, 2n]) {
    const claim = claimOf();
    assertEquals(await fenceOf(fixture.a.attempt(claim, { enqueue: false })), BigInt(wall) * 1_000n + step);
    assert(await fixture.a.release(claim));
  }
});

testWithFixture(
  "attempt() asks waiters to retry after 0.5 s, and sleeping ones after 10 s",
  async (fixture) => {
    const [holder, waiter] = [claimOf(), claimOf()];
    assertEquals(await ask(fixture.a, holder), true);
    const pauses = async () => {
      const all: number[] = [];
      for (let i = 0; i < 20; i++) {
        const attempt = await fixture.b.attempt(waiter, { enqueue: true });
        assert(!attempt.granted && "retryAfter" in attempt);
        all.push(attempt.retryAfter);
      }
      return { min: Math.min(...all), max: Math.max(...all), different: new Set(all).size };
    };
    const awake = await pauses();
    assert(awake.min >= 500 && awake.max < 1_000 && awake.different > 1, JSON.stringify(awake));
    const over = new AbortController();
    const sleeping = fixture.b.wakeup(waiter, over.signal);
    over.abort();
    await sleeping;
    const asleep = await pauses();
    assert(asleep.min >= 10_000 && asleep.max < 20_000 && asleep.different > 1, JSON.stringify(asleep));
    for (const claim of [holder, waiter]) assert(await fixture.a.release(claim));
  },
);

testWithFixture("attempt() grants an owner a new fence in the millisecond its lease ends", async (fixture) => {
  const [first, second] = handles("me", {}, {});
  const fence = await fenceOf(fixture.a.attempt(first!, { enqueue: false }));
  await fixture.clock.advance(LEASE);
  assert(await fenceOf(fixture.a.attempt(second!, { enqueue: false })) > fence);
  assert(await fixture.a.release(second!));
});

testWithFixture("attempt() finds the kind of the handles whose leases have not ended", async (fixture) => {
  for (const kind of [{ mode: "shared" }, { permits: 2 }] as const) {
    const [exclusive, other] = handles("me", { lease: LEASE / 2 }, kind);
    const beside = claimOf(kind);
    for (const claim of [exclusive!, other!]) assertEquals(await ask(fixture.a, claim), true);
    await fixture.clock.advance(LEASE / 2);
    assertEquals(await ask(fixture.b, beside), true);
    for (const claim of [other!, beside]) assert(await fixture.a.release(claim));
  }
});

testWithFixture("attempt() leaves other leases as they are when it cuts an overlong one", async (fixture) => {
  const [late, other] = [claimOf({ mode: "shared", lease: 10 * LEASE }), claimOf({ mode: "shared" })];
  for (const claim of [late, other]) assertEquals(await ask(fixture.a, claim), true);
  await fixture.clock.advance(30_000);
  assertEquals(await fixture.a.renew(late), "renewed");
  fixture.clock.setWall(-10_000);
  const reader = claimOf({ mode: "shared" });
  assertEquals(await ask(fixture.b, reader), true);
  await fixture.clock.advance(LEASE - 30_000 + 10_000);
  assertEquals(await fixture.a.renew(other), "lost");
  assert(!await fixture.a.release(other));
  for (const claim of [late, reader]) assert(await fixture.a.release(claim));
});

testWithFixture("attempt() that is repeated keeps its own lease when the clock is set back", async (fixture) => {
  const [claim, other] = [claimOf({ lease: 1_000 }), claimOf()];
  assertEquals(await ask(fixture.a, claim), true);
  await fixture.clock.advance(500);
  assertEquals(await ask(fixture.a, { ...claim, lease: 500 }), true, "it ends at the same moment");
  fixture.clock.setWall(-10_000);
  assertEquals(await ask(fixture.b, other), false);
  await fixture.clock.advance(500);
  assertEquals(await ask(fixture.b, other), true);
  assert(await fixture.b.release(other));
});

testWithFixture("renew() without a renewal number counts as number 0", async (fixture) => {
  const claim = claimOf({ lease: 1_000 });
  assertEquals(await ask(fixture.a, claim), true);
  assertEquals(await fixture.a.renew(claim), "renewed");
  assertEquals(await fixture.a.renew({ ...claim, lease: 5_000, renewal: 0 }), "renewed");
  await fixture.clock.advance(4_999);
  assertEquals(await fixture.a.renew(claim), "renewed");
  assert(await fixture.a.release(claim));
});
