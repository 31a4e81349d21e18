import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { readFileSync, writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { FileStore } from "../../../src/stores/sqlite/store.ts";
import { ask, claimOf, fenceOf, rows, testWithFixture } from "./fixture.ts";

/** How many fences there are: the next one would not be exact. */
const LAST = Number.MAX_SAFE_INTEGER;

testWithFixture("attempt() of many at once lets the event loop turn, and keeps the order", async (fixture) => {
  const { clock } = fixture;
  // A real clock: it tells how long the writes take. Its timers never run: with them, waiters that do not ask again
  // leave the queue after 2 s.
  using store = new FileStore(fixture.path, undefined, {
    now: () => ({ ...clock.now(), monotonic: performance.now() }),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    timer: () => ({ cancel: () => {} }),
  });
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

testWithFixture("attempt() waits for a file that another process keeps busy for seconds", async (fixture) => {
  const claims = [claimOf(), claimOf()];
  const writer = fixture.lock();
  const attempts = claims.map((claim) => ask(fixture.a, claim));
  await fixture.clock.advance(4_500);
  writer[Symbol.dispose]();
  await fixture.clock.advance(10);
  assertEquals(await Promise.all(attempts), [true, false]);
  for (const claim of claims) await fixture.a.release(claim);
});

testWithFixture("attempt() rejects after 5 s on a busy file, not permanently", async (fixture) => {
  const writer = fixture.lock();
  const rejection = assertRejects(() => ask(fixture.a, claimOf()), StoreError, "kept it to itself for 5000 ms");
  await fixture.clock.advance(6_000);
  assert(!(await rejection).permanent);
  writer[Symbol.dispose]();
});

testWithFixture("attempt() does not count time in which its own process stood still", async (fixture) => {
  const writer = fixture.lock();
  const claim = claimOf();
  const attempt = ask(fixture.a, claim);
  await fixture.clock.advance(100);
  fixture.clock.stall(60_000);
  await fixture.clock.advance(100);
  writer[Symbol.dispose]();
  await fixture.clock.advance(10);
  assertEquals(await attempt, true);
  await fixture.a.release(claim);
});

testWithFixture("attempt() that fails does not fail others that share its transaction", async (fixture) => {
  const [held, other, waiter] = [claimOf({ name: "held" }), claimOf({ name: "other" }), claimOf({ name: "held" })];
  assertEquals(await ask(fixture.a, held), true);
  fixture.sql(`UPDATE holdfast_fences SET last = ${LAST}`);
  const writer = fixture.lock();
  const renewed = fixture.a.renew(held);
  const refused = assertRejects(() => ask(fixture.a, other), StoreError, "2^53");
  const busy = ask(fixture.a, waiter);
  writer[Symbol.dispose]();
  await fixture.clock.advance(50);
  assert((await refused).permanent);
  assertEquals([await busy, await renewed], [false, "renewed"]);
  for (const claim of [held, waiter]) assert(await fixture.a.release(claim));
});

testWithFixture("attempt() rejects, and grants nothing, when a fence would not be exact", async (fixture) => {
  const first = claimOf();
  assertEquals(await ask(fixture.a, first), true);
  await fixture.a.release(first);
  fixture.sql(`UPDATE holdfast_fences SET last = ${LAST - 1}`);
  assertEquals(await fenceOf(fixture.a.attempt(first, { enqueue: false })), BigInt(LAST));
  const holder = claimOf({ name: "other" });
  for (const last of ["9007199254740991", "9007199254740992", "9223372036854775807"]) {
    fixture.sql(`UPDATE holdfast_fences SET last = ${last}`);
    const error = await assertRejects(() => fixture.a.attempt(holder, { enqueue: true }), StoreError, "2^53");
    assert(error.permanent);
    assertEquals(rows(fixture.path), [first.owner]);
    await assertRejects(() => fixture.b.attempt(holder, { enqueue: true, steal: true }), StoreError, "2^53");
  }
  assert(await fixture.a.release(first));
});

testWithFixture("attempt() grants rising fences after the clock was ahead", async (fixture) => {
  const claim = claimOf();
  let last = 0n;
  for (const step of [0, 30 * 86_400_000, -30 * 86_400_000, 0]) {
    fixture.clock.setWall(step);
    const fence = await fenceOf(fixture.a.attempt(claim, { enqueue: false }));
    assert(fence > last);
    last = fence;
    await fixture.a.release(claim);
    await fixture.clock.advance(1_000);
  }
});

testWithFixture("attempt() that is repeated does not shorten an extended lease", async (fixture) => {
  const claim = claimOf({ lease: 1_000 });
  assertEquals(await ask(fixture.a, claim), true);
  assertEquals(await fixture.a.renew({ ...claim, lease: 10_000, renewal: 1 }), "renewed");
  assertEquals(await ask(fixture.a, claim), true);
  assertEquals(await fixture.a.renew({ ...claim, renewal: 0 }), "renewed", "sent before, and late");
  await fixture.clock.advance(9_000);
  assertEquals(await ask(fixture.b, claimOf({ owner: "other", permits: 1, lease: 1 })), {
    present: "exclusive",
    own: false,
  });
  assert(await fixture.a.release(claim));
});

testWithFixture("FileStore rejects every call with a permanent error when waiting is useless", async (fixture) => {
  assertEquals(await ask(fixture.a, claimOf()), true);
  await fixture.a.evict("name");
  fixture.a.close();
  fixture.b.close();
  const header = readFileSync(fixture.path);
  // A file that asks for a later SQLite to write to it, which can only be read therefore.
  header[18] = 3;
  writeFileSync(fixture.path, header);
  const store = fixture.open();
  const calls = [
    () => store.attempt(claimOf(), { enqueue: true }),
    () => store.renew(claimOf()),
    () => store.release(claimOf()),
    () => store.evict("name"),
  ];
  for (const call of calls) assert((await assertRejects(call, StoreError, "readonly database")).permanent);
  store.close();
  for (const call of calls) assert((await assertRejects(call, StoreError, "closed")).permanent);
  writeFileSync(fixture.path, "no database at all".repeat(1_000));
  const other = fixture.open();
  const error = await assertRejects(() => other.query(), StoreError, "not a database");
  assert(error.permanent && error.cause instanceof Error);
  other.close();
  header[18] = 2;
  writeFileSync(fixture.path, header);
});
