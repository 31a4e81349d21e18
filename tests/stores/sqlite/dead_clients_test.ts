import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { ask, claimOf, DEAD, LEASE, rows, testWithFixture } from "./fixture.ts";
import { grantAll, holderOf, queueAll, sleepAll, sleeper } from "./waiting.ts";

testWithFixture("attempt() skips the waiters of a dead process", async (site) => {
  const holder = await holderOf(site.a, { lease: 3_600_000 });
  const [first, second] = [claimOf(), claimOf()];
  const dead = site.openDead();
  assertEquals(await ask(dead, first), false);
  assertEquals(await ask(site.b, second), false);
  const asleep = sleeper(site.b, second);
  await site.a.release(holder);
  await site.clock.advance(DEAD + 1_000);
  assert(asleep.woken);
  assertEquals(await ask(site.b, second), true);
  await site.b.release(second);
  // One that has only just come waits longer before it judges.
  assertEquals((await site.a.attempt(second, { enqueue: false })).granted, false);
  await site.clock.advance(DEAD);
  assertEquals(await ask(site.a, second), true);
  for (const claim of [first, second]) assert(await site.a.release(claim));
  dead.close();
});

testWithFixture("attempt() skips a dead process whose heartbeat is from the future", async (site) => {
  const dead = site.openDead();
  const holder = await holderOf(site.a);
  const [first, second] = [claimOf(), claimOf()];
  assertEquals(await ask(dead, first), false);
  site.clock.setWall(-60_000);
  await site.a.release(holder);
  assertEquals(await ask(site.b, second), true);
  for (const claim of [first, second]) assert(await site.b.release(claim));
  dead.close();
});

testWithFixture("wakeup() resolves as soon as the process ahead counts as dead", async (site) => {
  const dead = site.openDead();
  const [holder, first, second] = [claimOf(), claimOf(), claimOf()];
  await grantAll(site.a, [holder]);
  await queueAll(dead, [first]);
  await queueAll(site.b, [second]);
  const woken = sleepAll(site.b, [second]);
  await site.a.release(holder);
  await site.clock.advance(DEAD - 1);
  assertEquals(woken, []);
  await site.clock.advance(500 + 25);
  assertEquals(woken, [second]);
  await grantAll(site.b, [second]);
  for (const claim of [first, second]) assert(await site.b.release(claim));
  dead.close();
});

testWithFixture(
  "attempt() skips dead waiters when a heartbeat came after the last release",
  async (site) => {
    const dead = site.openDead();
    const [holder, first, waiter, next] = [claimOf(), claimOf(), claimOf({ name: "other" }), claimOf()];
    const other = claimOf({ name: "other" });
    await grantAll(site.a, [holder, other]);
    await queueAll(dead, [first]);
    await queueAll(site.b, [waiter]);
    const writer = site.lock();
    const released = site.b.release(waiter);
    await site.clock.advance(500);
    writer[Symbol.dispose]();
    await site.clock.advance(10);
    assert(await released);
    assertEquals(site.clock.pending, 0);
    await site.clock.advance(6_000);
    await site.a.release(holder);
    assertEquals((await site.b.attempt(next, { enqueue: true })).granted, true);
    for (const claim of [first, next, other]) assert(await site.b.release(claim));
    dead.close();
  },
);

testWithFixture("attempt() deletes the waiters of a process that died long ago", async (site) => {
  const [holder, passerBy] = [await holderOf(site.a, { lease: 3_600_000 }), claimOf()];
  const dead = site.openDead();
  const names = Array.from({ length: 250 }, (_, i) => `${i}`);
  for (const name of names) await ask(dead, claimOf({ name, owner: "dead" }));
  assertEquals(rows(site.path).length, 251);
  for (const name of names.slice(1)) await ask(dead, claimOf({ name, owner: "dead, too" }));
  await site.clock.advance(599_000);
  await site.a.attempt(passerBy, { enqueue: false });
  const before = rows(site.path).length;
  await site.clock.advance(2_000);
  for (let writes = 0; writes < 40; writes++) await site.a.attempt(passerBy, { enqueue: false });
  assert(before > 1);
  assertEquals(rows(site.path), [holder.owner]);
  using database = new DatabaseSync(site.path);
  assertEquals(database.prepare("SELECT * FROM holdfast_clients").all(), []);
  await site.a.release(holder);
  dead.close();
});

testWithFixture("attempt() deletes expired holders of names that nobody asks for again", async (site) => {
  for (let i = 0; i < 2_500; i++) await holderOf(site.b, { name: `${i}`, lease: i % 2 === 0 ? 100 : LEASE });
  const watched = claimOf({ name: "1" });
  await site.clock.advance(1_000);
  for (let writes = 0; writes < 200; writes++) {
    const claim = await holderOf(site.a);
    await site.a.release(claim);
  }
  assertEquals(rows(site.path).length, 1_250);
  assertEquals(await site.a.renew(watched), "lost");
  await site.clock.advance(LEASE);
  for (let writes = 0; writes < 100; writes++) await site.a.release(claimOf());
  assertEquals(rows(site.path), []);
});

testWithFixture("attempt() sweeps a hundred holders at a time, or every 17th write", async (site) => {
  const passerBy = claimOf({ name: "~" });
  await grantAll(site.b, [passerBy]);
  const left = () => rows(site.path).length - 1;
  const write = () => site.a.attempt({ ...passerBy, owner: "other" }, { enqueue: false });
  const dead = (n: number) => {
    // Their leases have ended in this very millisecond.
    const { wall } = site.clock.now();
    const values = Array.from(
      { length: n },
      (_, i) => `('n${1000 + i}', 'h', 'h', 'shared', ${wall}, 1, 1, 0, 0, '', NULL)`,
    );
    site.sql(`INSERT INTO holdfast_holders VALUES ${values.join()}`);
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
  assert(await site.b.release(passerBy));
});

testWithFixture("close() deletes the client and its waiters from the file", async (site) => {
  const holder = claimOf();
  const store = site.open();
  await grantAll(site.a, [holder]);
  await queueAll(store, [claimOf(), claimOf()]);
  await queueAll(site.a, [claimOf({ owner: "stays" })]);
  store.close();
  store.close();
  assertEquals(rows(site.path), [holder.owner, "stays"]);
  using database = new DatabaseSync(site.path);
  assertEquals(database.prepare("SELECT count(*) AS clients FROM holdfast_clients").get()?.["clients"], 1);
  site.a.close();
  assertEquals(database.prepare("SELECT count(*) AS clients FROM holdfast_clients").get()?.["clients"], 0);
  assertEquals(site.clock.pending, 0);
  assert(await site.b.release(holder));
});
