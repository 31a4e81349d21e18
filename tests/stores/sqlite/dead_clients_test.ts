import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { ask, claimOf, DEAD, LEASE, rows, testWithFixture } from "./fixture.ts";
import { grantAll, holderOf, queueAll, sleepAll, sleeper } from "./waiting.ts";

testWithFixture("attempt() skips the waiters of a dead process", async (fixture) => {
  const holder = await holderOf(fixture.a, { lease: 3_600_000 });
  const [first, second] = [claimOf(), claimOf()];
  const dead = fixture.openDead();
  assertEquals(await ask(dead, first), false);
  assertEquals(await ask(fixture.b, second), false);
  const asleep = sleeper(fixture.b, second);
  await fixture.a.release(holder);
  await fixture.clock.advance(DEAD + 1_000);
  assert(asleep.woken);
  assertEquals(await ask(fixture.b, second), true);
  await fixture.b.release(second);
  // One that has only just come waits longer before it judges.
  assertEquals((await fixture.a.attempt(second, { enqueue: false })).granted, false);
  await fixture.clock.advance(DEAD);
  assertEquals(await ask(fixture.a, second), true);
  for (const claim of [first, second]) assert(await fixture.a.release(claim));
  dead.close();
});

testWithFixture("attempt() skips a dead process whose heartbeat is from the future", async (fixture) => {
  const dead = fixture.openDead();
  const holder = await holderOf(fixture.a);
  const [first, second] = [claimOf(), claimOf()];
  assertEquals(await ask(dead, first), false);
  fixture.clock.setWall(-60_000);
  await fixture.a.release(holder);
  assertEquals(await ask(fixture.b, second), true);
  for (const claim of [first, second]) assert(await fixture.b.release(claim));
  dead.close();
});

testWithFixture("wakeup() resolves as soon as the process ahead counts as dead", async (fixture) => {
  const dead = fixture.openDead();
  const [holder, first, second] = [claimOf(), claimOf(), claimOf()];
  await grantAll(fixture.a, [holder]);
  await queueAll(dead, [first]);
  await queueAll(fixture.b, [second]);
  const woken = sleepAll(fixture.b, [second]);
  await fixture.a.release(holder);
  await fixture.clock.advance(DEAD - 1);
  assertEquals(woken, []);
  await fixture.clock.advance(500 + 25);
  assertEquals(woken, [second]);
  await grantAll(fixture.b, [second]);
  for (const claim of [first, second]) assert(await fixture.b.release(claim));
  dead.close();
});

testWithFixture(
  "attempt() skips dead waiters when a heartbeat came after the last release",
  async (fixture) => {
    const dead = fixture.openDead();
    const [holder, first, waiter, next] = [claimOf(), claimOf(), claimOf({ name: "other" }), claimOf()];
    const other = claimOf({ name: "other" });
    await grantAll(fixture.a, [holder, other]);
    await queueAll(dead, [first]);
    await queueAll(fixture.b, [waiter]);
    const writer = fixture.lock();
    const released = fixture.b.release(waiter);
    await fixture.clock.advance(500);
    writer[Symbol.dispose]();
    await fixture.clock.advance(10);
    assert(await released);
    assertEquals(fixture.clock.pending, 0);
    await fixture.clock.advance(6_000);
    await fixture.a.release(holder);
    assertEquals((await fixture.b.attempt(next, { enqueue: true })).granted, true);
    for (const claim of [first, next, other]) assert(await fixture.b.release(claim));
    dead.close();
  },
);

testWithFixture("attempt() deletes the waiters of a process that died long ago", async (fixture) => {
  const [holder, passerBy] = [await holderOf(fixture.a, { lease: 3_600_000 }), claimOf()];
  const dead = fixture.openDead();
  const names = Array.from({ length: 250 }, (_, i) => `${i}`);
  for (const name of names) await ask(dead, claimOf({ name, owner: "dead" }));
  assertEquals(rows(fixture.path).length, 251);
  for (const name of names.slice(1)) await ask(dead, claimOf({ name, owner: "dead, too" }));
  await fixture.clock.advance(599_000);
  await fixture.a.attempt(passerBy, { enqueue: false });
  const before = rows(fixture.path).length;
  await fixture.clock.advance(2_000);
  for (let writes = 0; writes < 40; writes++) await fixture.a.attempt(passerBy, { enqueue: false });
  assert(before > 1);
  assertEquals(rows(fixture.path), [holder.owner]);
  using database = new DatabaseSync(fixture.path);
  assertEquals(database.prepare("SELECT * FROM holdfast_clients").all(), []);
  await fixture.a.release(holder);
  dead.close();
});

testWithFixture("attempt() deletes expired holders of names that nobody asks for again", async (fixture) => {
  for (let i = 0; i < 2_500; i++) await holderOf(fixture.b, { name: `${i}`, lease: i % 2 === 0 ? 100 : LEASE });
  const watched = claimOf({ name: "1" });
  await fixture.clock.advance(1_000);
  for (let writes = 0; writes < 200; writes++) {
    const claim = await holderOf(fixture.a);
    await fixture.a.release(claim);
  }
  assertEquals(rows(fixture.path).length, 1_250);
  assertEquals(await fixture.a.renew(watched), "lost");
  await fixture.clock.advance(LEASE);
  for (let writes = 0; writes < 100; writes++) await fixture.a.release(claimOf());
  assertEquals(rows(fixture.path), []);
});

testWithFixture("attempt() sweeps a hundred holders at a time, or every 17th write", async (fixture) => {
  const passerBy = claimOf({ name: "~" });
  await grantAll(fixture.b, [passerBy]);
  const left = () => rows(fixture.path).length - 1;
  const write = () => fixture.a.attempt({ ...passerBy, owner: "other" }, { enqueue: false });
  const dead = (n: number) => {
    // Their leases have ended in this very millisecond.
    const { wall } = fixture.clock.now();
    const values = Array.from(
      { length: n },
      (_, i) => `('n${1000 + i}', 'h', 'h', 'shared', ${wall}, 1, 1, 0, 0, '', NULL)`,
    );
    fixture.sql(`INSERT INTO holdfast_holders VALUES ${values.join()}`);
  };
  dead(250);
  const seen: number[] = [];
  for (let i = 0; i < 4; i++) {
    await write();
    seen.push(left());
  }
  assertEquals(seen, [150, 50, 0, 0]);
  dead(101);
  for (let i = 0; i < 16; i++) await write();
  assertEquals(left(), 101);
  await write();
  assertEquals(left(), 1);
  await write();
  assertEquals(left(), 0, "there was more to delete");
  assert(await fixture.b.release(passerBy));
});

testWithFixture("close() deletes the client and its waiters from the file", async (fixture) => {
  const holder = claimOf();
  const store = fixture.open();
  await grantAll(fixture.a, [holder]);
  await queueAll(store, [claimOf(), claimOf()]);
  await queueAll(fixture.a, [claimOf({ owner: "stays" })]);
  store.close();
  store.close();
  assertEquals(rows(fixture.path), [holder.owner, "stays"]);
  using database = new DatabaseSync(fixture.path);
  assertEquals(database.prepare("SELECT count(*) AS clients FROM holdfast_clients").get()?.["clients"], 1);
  fixture.a.close();
  assertEquals(database.prepare("SELECT count(*) AS clients FROM holdfast_clients").get()?.["clients"], 0);
  assertEquals(fixture.clock.pending, 0);
  assert(await fixture.b.release(holder));
});
