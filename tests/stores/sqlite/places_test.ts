import { assert, assertEquals } from "@std/assert";
import { settled } from "../../support/virtual_clock.ts";
import { ask, claimOf, DEAD, rows, testWithFixture } from "./fixture.ts";
import { grantAll, holderOf, pending, queueAll, sleepAll, sleeper } from "./waiting.ts";

testWithFixture("attempt() keeps waiters in order when others kept the file busy", async (site) => {
  const holder = await holderOf(site.a);
  const [first, second] = [claimOf({ owner: "first" }), claimOf({ owner: "second" })];
  assertEquals(await ask(site.a, first), false);
  assertEquals(await ask(site.b, second), false);
  const sleepers = [sleeper(site.a, first), sleeper(site.b, second)];
  await site.clock.advance(5_000);
  const writer = site.lock();
  await site.clock.advance(4_500);
  writer[Symbol.dispose]();
  // Before the first one could write that it is alive.
  site.sql("DELETE FROM holdfast_holders");
  assertEquals(await ask(site.b, second), false);
  await site.clock.advance(1_000);
  assertEquals(await pending(site), ["first", "second"]);
  assertEquals(sleepers.map(({ woken }) => woken), [true, false]);
  for (const { over } of sleepers) over.abort();
  for (const claim of [first, second]) await site.a.release(claim);
  assert(!await site.a.release(holder));
});

testWithFixture("attempt() keeps waiters in order when their process stood still", async (site) => {
  const holder = await holderOf(site.a);
  const stopped = site.openDead();
  const [first, second] = [claimOf(), claimOf()];
  assertEquals(await ask(stopped, first), false);
  assertEquals(await ask(site.b, second), false);
  const asleep = sleeper(site.b, second);
  await site.clock.advance(DEAD - 100);
  await site.a.release(holder);
  await site.clock.advance(50);
  assert(!asleep.woken);
  assertEquals(await ask(site.b, second), false);
  assertEquals(await ask(stopped, first), true);
  asleep.over.abort();
  await stopped.release(first);
  await site.b.release(second);
  stopped.close();
});

testWithFixture("attempt() of a waiter that the file has lost restores its place", async (site) => {
  const holder = await holderOf(site.a);
  const [first, second] = [claimOf(), claimOf()];
  assertEquals(await ask(site.b, first), false);
  site.sql("DELETE FROM holdfast_queue; DELETE FROM holdfast_clients");
  assertEquals(await ask(site.a, second), false);
  await site.a.release(holder);
  assertEquals(await ask(site.b, first), true);
  assertEquals(await ask(site.a, second), false);
  for (const claim of [first, second]) assert(await site.b.release(claim));
});

testWithFixture("wakeup() restores the places of sleeping waiters that the file has lost", async (site) => {
  const holder = await holderOf(site.a);
  const waiters = ["one", "two", "three"].map((owner) => claimOf({ owner }));
  for (const waiter of waiters) assertEquals(await ask(site.b, waiter), false);
  const sleepers = waiters.map((waiter) => sleeper(site.b, waiter));
  site.sql("DELETE FROM holdfast_queue; DELETE FROM holdfast_clients");
  const late = claimOf({ owner: "late" });
  assertEquals(await ask(site.a, late), false);
  await site.clock.advance(500);
  assertEquals(await pending(site), ["one", "two", "three", "late"]);
  for (const { over } of sleepers) over.abort();
  for (const claim of [holder, late, ...waiters]) assert(await site.a.release(claim));
});

testWithFixture(
  "attempt() granted with the heartbeat that restores places gets no place",
  async (site) => {
    await holderOf(site.a);
    const waiter = claimOf();
    assertEquals(await ask(site.b, waiter), false);
    const asleep = sleeper(site.b, waiter);
    site.sql("DELETE FROM holdfast_holders; DELETE FROM holdfast_queue; DELETE FROM holdfast_clients");
    const writer = site.lock();
    // The sign of life waits for the file, and the attempt behind it: they share a transaction.
    await site.clock.advance(300);
    assert(asleep.woken);
    const asking = ask(site.b, waiter);
    await settled();
    writer[Symbol.dispose]();
    await site.clock.advance(10);
    assertEquals(await asking, true);
    assertEquals(await pending(site), []);
    assert(await site.b.release(waiter));
  },
);

testWithFixture("release() of a waiter that the file has lost does not restore it", async (site) => {
  const [holder, leaves, stays] = [claimOf(), claimOf(), claimOf({ owner: "stays" })];
  await grantAll(site.a, [holder]);
  await queueAll(site.b, [leaves, stays]);
  const woken = sleepAll(site.b, [stays, leaves]);
  await site.clock.advance(100);
  site.sql("DELETE FROM holdfast_queue; DELETE FROM holdfast_clients");
  const writer = site.lock();
  // The next sign of life is due meanwhile, and goes ahead of the release.
  await site.clock.advance(500);
  const released = site.b.release(leaves);
  writer[Symbol.dispose]();
  await site.clock.advance(50);
  await released;
  assertEquals(rows(site.path), [holder.owner, "stays"]);
  assertEquals(woken, []);
  for (const claim of [holder, stays]) assert(await site.b.release(claim));
});

testWithFixture("attempt() that grants takes the waiter out of the queue", async (site) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  await grantAll(site.a, [holder]);
  await queueAll(site.b, [waiter]);
  await site.a.release(holder);
  await grantAll(site.b, [waiter]);
  assertEquals(rows(site.path), [waiter.owner], "its hold alone");
  assert(await site.b.release(waiter));
});
