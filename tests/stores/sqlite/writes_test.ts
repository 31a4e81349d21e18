import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import { readFileSync, writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { ask, claimOf, fenceOf, rows, testWithFixture } from "./fixture.ts";

/** How many fences there are: the next one would not be exact. */
const LAST = Number.MAX_SAFE_INTEGER;

testWithFixture("attempt() of many at once lets the event loop turn, and keeps the order", async (site) => {
  // A real clock: it tells how long the writes take.
  using store = sqlite(site.path);
  const claims = Array.from({ length: 2_000 }, (_, i) => claimOf({ owner: `${i}` }));
  let done = 0;
  const attempts = claims.map((claim) => store.attempt(claim, { enqueue: true }).finally(() => done++));
  await setImmediate();
  assert(done < claims.length, "other work has its turn before all have been written");
  await Promise.all(attempts);
  const { held, pending } = await store.query();
  assertEquals([...held, ...pending].map(({ owner }) => owner), claims.map(({ owner }) => owner));
  await Promise.all(claims.map((claim) => store.release(claim)));
});

testWithFixture("attempt() waits for a file that another process keeps busy for seconds", async (site) => {
  const claims = [claimOf(), claimOf()];
  const writer = site.lock();
  const attempts = claims.map((claim) => ask(site.a, claim));
  await site.clock.advance(4_500);
  writer[Symbol.dispose]();
  await site.clock.advance(10);
  assertEquals(await Promise.all(attempts), [true, false]);
  for (const claim of claims) await site.a.release(claim);
});

testWithFixture("attempt() rejects after 5 s on a busy file, not permanently", async (site) => {
  const writer = site.lock();
  const rejection = assertRejects(() => ask(site.a, claimOf()), StoreError, "kept it to itself for 5000 ms");
  await site.clock.advance(6_000);
  assert(!(await rejection).permanent);
  writer[Symbol.dispose]();
});

testWithFixture("attempt() does not count time in which its own process stood still", async (site) => {
  const writer = site.lock();
  const claim = claimOf();
  const attempt = ask(site.a, claim);
  await site.clock.advance(100);
  site.clock.stall(60_000);
  await site.clock.advance(100);
  writer[Symbol.dispose]();
  await site.clock.advance(10);
  assertEquals(await attempt, true);
  await site.a.release(claim);
});

testWithFixture("attempt() that fails does not fail others that share its transaction", async (site) => {
  const [held, other, waiter] = [claimOf({ name: "held" }), claimOf({ name: "other" }), claimOf({ name: "held" })];
  assertEquals(await ask(site.a, held), true);
  site.sql(`UPDATE holdfast_fences SET last = ${LAST}`);
  const writer = site.lock();
  const renewed = site.a.renew(held);
  const refused = assertRejects(() => ask(site.a, other), StoreError, "2^53");
  const busy = ask(site.a, waiter);
  writer[Symbol.dispose]();
  await site.clock.advance(50);
  assert((await refused).permanent);
  assertEquals([await busy, await renewed], [false, "renewed"]);
  for (const claim of [held, waiter]) assert(await site.a.release(claim));
});

testWithFixture("attempt() rejects, and grants nothing, when a fence would not be exact", async (site) => {
  const first = claimOf();
  assertEquals(await ask(site.a, first), true);
  await site.a.release(first);
  site.sql(`UPDATE holdfast_fences SET last = ${LAST - 1}`);
  assertEquals(await fenceOf(site.a.attempt(first, { enqueue: false })), BigInt(LAST));
  const holder = claimOf({ name: "other" });
  for (const last of ["9007199254740991", "9007199254740992", "9223372036854775807"]) {
    site.sql(`UPDATE holdfast_fences SET last = ${last}`);
    const error = await assertRejects(() => site.a.attempt(holder, { enqueue: true }), StoreError, "2^53");
    assert(error.permanent);
    assertEquals(rows(site.path), [first.owner]);
    await assertRejects(() => site.b.attempt(holder, { enqueue: true, steal: true }), StoreError, "2^53");
  }
  assert(await site.a.release(first));
});

testWithFixture("attempt() grants rising fences after the clock was ahead", async (site) => {
  const claim = claimOf();
  let last = 0n;
  for (const step of [0, 30 * 86_400_000, -30 * 86_400_000, 0]) {
    site.clock.setWall(step);
    const fence = await fenceOf(site.a.attempt(claim, { enqueue: false }));
    assert(fence > last);
    last = fence;
    await site.a.release(claim);
    await site.clock.advance(1_000);
  }
});

testWithFixture("attempt() that is repeated does not shorten an extended lease", async (site) => {
  const claim = claimOf({ lease: 1_000 });
  assertEquals(await ask(site.a, claim), true);
  assertEquals(await site.a.renew({ ...claim, lease: 10_000, renewal: 1 }), "renewed");
  assertEquals(await ask(site.a, claim), true);
  assertEquals(await site.a.renew({ ...claim, renewal: 0 }), "renewed", "sent before, and late");
  await site.clock.advance(9_000);
  assertEquals(await ask(site.b, claimOf({ owner: "other", permits: 1, lease: 1 })), {
    present: "exclusive",
    own: false,
  });
  assert(await site.a.release(claim));
});

testWithFixture("FileStore rejects every call with a permanent error when waiting is useless", async (site) => {
  assertEquals(await ask(site.a, claimOf()), true);
  await site.a.evict("name");
  site.a.close();
  site.b.close();
  const header = readFileSync(site.path);
  // A file that asks for a later SQLite to write to it, which can only be read therefore.
  header[18] = 3;
  writeFileSync(site.path, header);
  const store = site.open();
  const calls = [
    () => store.attempt(claimOf(), { enqueue: true }),
    () => store.renew(claimOf()),
    () => store.release(claimOf()),
    () => store.evict("name"),
  ];
  for (const call of calls) assert((await assertRejects(call, StoreError, "readonly database")).permanent);
  store.close();
  for (const call of calls) assert((await assertRejects(call, StoreError, "closed")).permanent);
  writeFileSync(site.path, "no database at all".repeat(1_000));
  const other = site.open();
  const error = await assertRejects(() => other.query(), StoreError, "not a database");
  assert(error.permanent && error.cause instanceof Error);
  other.close();
  header[18] = 2;
  writeFileSync(site.path, header);
});
