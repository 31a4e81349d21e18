import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import type { Claim } from "../../../src/store.ts";
import type { FileStore } from "../../../src/stores/sqlite/store.ts";
import { settled } from "../../virtual_clock.ts";
import { ask, claimOf, LEASE, rows, testOnSite } from "./site.ts";

async function retryAfter(store: FileStore, claim: Claim): Promise<number> {
  const attempt = await store.attempt(claim, { enqueue: true });
  assert("retryAfter" in attempt);
  return attempt.retryAfter;
}

testOnSite("attempt() is worthwhile again ever more rarely, and when the first lease ends", async (site) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  assertEquals(await ask(site.a, holder), true);
  assertEquals(await retryAfter(site.b, waiter), 1);
  await site.clock.advance(80);
  assertEquals(await retryAfter(site.b, waiter), 20);
  await site.clock.advance(LEASE - 90);
  assertEquals(await retryAfter(site.b, waiter), 10);
  await site.clock.advance(10);
  assertEquals(await ask(site.b, waiter), true);
  await site.b.release(waiter);
});

testOnSite("attempt() counts a lease from when it hears that the clock was set back", async (site) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  assertEquals(await ask(site.a, holder), true);
  site.clock.setWall(-24 * 3_600_000);
  assertEquals(await ask(site.b, waiter), false);
  await site.clock.advance(LEASE - 10);
  assertEquals(await ask(site.b, waiter), false);
  await site.clock.advance(20);
  assertEquals(await ask(site.b, waiter), true);
  await site.b.release(waiter);
});

testOnSite("attempt() that only reads hears that the clock was set back, too", async (site) => {
  const names = ["one", "two"];
  for (const name of names) assertEquals(await ask(site.a, claimOf({ name })), true);
  const waiters = names.map((name) => claimOf({ name }));
  for (const waiter of waiters) assertEquals(await ask(site.b, waiter), false);
  site.clock.setWall(-24 * 3_600_000);
  // The first of them writes that both are alive.
  for (const waiter of waiters) assertEquals(await ask(site.b, waiter), false);
  await site.clock.advance(LEASE + 10);
  for (const waiter of waiters) {
    assertEquals(await ask(site.b, waiter), true);
    await site.b.release(waiter);
  }
});

testOnSite(
  "attempt() counts a lease from then also when it is told of a conflict, or granted beside the dead",
  async (site) => {
    const present: [Claim, Partial<Claim>, Partial<Claim>][] = [
      [claimOf({ name: "permits", permits: 2 }), {}, {}],
      [claimOf({ name: "another number", permits: 2 }), { permits: 3 }, { permits: 3 }],
      [claimOf({ name: "own", owner: "me", hold: "me/1", mode: "shared" }), { owner: "me", hold: "me/2" }, {}],
      [claimOf({ name: "beside", mode: "shared" }), { mode: "shared", lease: LEASE / 2 }, {}],
    ];
    for (const [dead] of present) assertEquals(await ask(site.a, dead), true);
    site.clock.setWall(-24 * 3_600_000);
    for (const [{ name }, claim] of present) await site.b.attempt(claimOf({ name, ...claim }), { enqueue: false });
    await site.clock.advance(LEASE + 10);
    for (const [{ name }, , claim] of present) {
      const next = claimOf({ name, ...claim });
      assertEquals((await site.b.attempt(next, { enqueue: false })).granted, true, name);
      assert(await site.b.release(next));
    }
  },
);

testOnSite("attempt() keeps waiters in their places when the clock was set or the machine was asleep", async (site) => {
  for (const step of [-3_600_000, -700_000, 601_000]) {
    const holder = claimOf({ lease: 2_000_000 });
    assertEquals(await ask(site.a, holder), true);
    const waiters = [0, 1, 2, 3].map((i) => claimOf({ owner: `${i}` }));
    const storeOf = (i: number) => i % 2 === 0 ? site.a : site.b;
    for (const [i, waiter] of waiters.entries()) await ask(storeOf(i), waiter);
    site.clock.setWall(step);
    for (const [i, waiter] of [...waiters.entries()].toReversed()) {
      assertEquals(await ask(storeOf(i), waiter), false);
    }
    assertEquals((await site.a.query()).pending.map(({ owner }) => owner), ["0", "1", "2", "3"], `${step}`);
    assert(await site.a.release(holder));
    for (const [i, waiter] of waiters.entries()) assert(await storeOf(i).release(waiter));
  }
});

testOnSite("attempt() deletes those who have died in the queue long ago", async (site) => {
  const [holder, dead, passerBy] = [claimOf({ lease: 3_600_000 }), claimOf(), claimOf()];
  assertEquals(await ask(site.a, holder), true);
  assertEquals(await ask(site.b, dead), false);
  await site.clock.advance(599_000);
  await site.a.attempt(passerBy, { enqueue: false });
  assertEquals(rows(site.path), [holder.owner, dead.owner]);
  await site.clock.advance(2_000);
  await site.a.attempt(passerBy, { enqueue: false });
  assertEquals(rows(site.path), [holder.owner]);
  await site.a.release(holder);
});

testOnSite(
  "attempt() of a waiter only reads while nothing changes, but for a sign of life now and then",
  async (site) => {
    const [holder, waiter] = [claimOf(), claimOf()];
    assertEquals(await ask(site.a, holder), true);
    assertEquals(await ask(site.b, waiter), false);
    using observer = new DatabaseSync(site.path);
    // It changes whenever another connection has written.
    const version = () => observer.prepare("PRAGMA data_version").get()?.["data_version"];
    const before = version();
    for (let poll = 0; poll < 9; poll++) {
      await site.clock.advance(10);
      assertEquals(await ask(site.b, waiter), false);
    }
    assertEquals(version(), before);
    await site.clock.advance(10);
    assertEquals(await ask(site.b, waiter), false);
    assert(version() !== before);
    await site.a.release(holder);
    await site.b.release(waiter);
  },
);

testOnSite("attempt() of one waiter writes for all of its process that they are alive", async (site) => {
  const holders = ["one", "two"].map((name) => claimOf({ name }));
  const waiters = Array.from({ length: 10 }, (_, i) => claimOf({ name: holders[i % 2]!.name }));
  for (const claim of [...holders, ...waiters]) await ask(site.b, claim);
  using observer = new DatabaseSync(site.path);
  const version = () => observer.prepare("PRAGMA data_version").get()?.["data_version"];
  let writes = 0;
  let before = version();
  for (let ms = 0; ms < 1_000; ms += 25) {
    await site.clock.advance(25);
    for (const waiter of waiters) {
      assertEquals(await ask(site.b, waiter), false);
      if (version() !== before) writes++;
      before = version();
    }
    assertEquals((await site.a.query()).pending.length, waiters.length);
  }
  assertEquals(writes, 10);
  for (const claim of [...holders, ...waiters]) assert(await site.b.release(claim));
});

testOnSite("attempt() of a waiter keeps no other in the queue that does not ask any more", async (site) => {
  const [holder, waiter, gone] = [claimOf(), claimOf({ owner: "waits" }), claimOf({ owner: "gone" })];
  for (const claim of [holder, gone, waiter]) await ask(site.b, claim);
  for (let ms = 0; ms < 1_000; ms += 50) {
    await site.clock.advance(50);
    await ask(site.b, waiter);
  }
  assertEquals((await site.a.query()).pending.map(({ owner }) => owner), ["waits"]);
  for (const claim of [holder, gone, waiter]) await site.b.release(claim);
});

testOnSite("attempt() of a waiter does not wait for its turn to write while another one does", async (site) => {
  const [holder, one, two] = [claimOf(), claimOf({ owner: "one" }), claimOf({ owner: "two" })];
  for (const claim of [holder, one, two]) await ask(site.b, claim);
  await site.clock.advance(100);
  using writer = new DatabaseSync(site.path);
  writer.exec("BEGIN IMMEDIATE");
  const writes = ask(site.b, one);
  assertEquals(await Promise.race([ask(site.b, two), settled().then(() => "waits")]), false);
  writer.exec("COMMIT");
  await site.clock.advance(100);
  assertEquals(await writes, false);
  await site.clock.advance(399);
  assertEquals((await site.a.query()).pending.map(({ owner }) => owner), ["one", "two"]);
  for (const claim of [holder, one, two]) await site.b.release(claim);
});
