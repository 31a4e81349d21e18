import { assert, assertEquals } from "@std/assert";
import { settled } from "../../support/virtual_clock.ts";
import { ask, claimOf, DEAD, rows, testWithFixture } from "./fixture.ts";
import { grantAll, holderOf, pending, queueAll, sleepAll, sleeper } from "./waiting.ts";

testWithFixture("attempt() keeps waiters in order when others kept the file busy", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const [first, second] = [claimOf({ owner: "first" }), claimOf({ owner: "second" })];
  assertEquals(await ask(fixture.a, first), false);
  assertEquals(await ask(fixture.b, second), false);
  const sleepers = [sleeper(fixture.a, first), sleeper(fixture.b, second)];
  await fixture.clock.advance(5_000);
  const writer = fixture.lock();
  await fixture.clock.advance(4_500);
  writer[Symbol.dispose]();
  // Before the first one could write that it is alive.
  fixture.sql("DELETE FROM holdfast_holders");
  assertEquals(await ask(fixture.b, second), false);
  await fixture.clock.advance(1_000);
  assertEquals(await pending(fixture), ["first", "second"]);
  assertEquals(sleepers.map(({ woken }) => woken), [true, false]);
  for (const { over } of sleepers) over.abort();
  for (const claim of [first, second]) await fixture.a.release(claim);
  assert(!await fixture.a.release(holder));
});

testWithFixture("attempt() keeps waiters in order when their process stood still", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const stopped = fixture.openDead();
  const [first, second] = [claimOf(), claimOf()];
  assertEquals(await ask(stopped, first), false);
  assertEquals(await ask(fixture.b, second), false);
  const asleep = sleeper(fixture.b, second);
  await fixture.clock.advance(DEAD - 100);
  await fixture.a.release(holder);
  await fixture.clock.advance(50);
  assert(!asleep.woken);
  assertEquals(await ask(fixture.b, second), false);
  assertEquals(await ask(stopped, first), true);
  asleep.over.abort();
  await stopped.release(first);
  await fixture.b.release(second);
  stopped.close();
});

testWithFixture("attempt() of a waiter that the file has lost restores its place", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const [first, second] = [claimOf(), claimOf()];
  assertEquals(await ask(fixture.b, first), false);
  fixture.sql("DELETE FROM holdfast_queue; DELETE FROM holdfast_clients");
  assertEquals(await ask(fixture.a, second), false);
  await fixture.a.release(holder);
  assertEquals(await ask(fixture.b, first), true);
  assertEquals(await ask(fixture.a, second), false);
  for (const claim of [first, second]) assert(await fixture.b.release(claim));
});

testWithFixture("wakeup() restores the places of sleeping waiters that the file has lost", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const waiters = ["one", "two", "three"].map((owner) => claimOf({ owner }));
  for (const waiter of waiters) assertEquals(await ask(fixture.b, waiter), false);
  const sleepers = waiters.map((waiter) => sleeper(fixture.b, waiter));
  fixture.sql("DELETE FROM holdfast_queue; DELETE FROM holdfast_clients");
  const late = claimOf({ owner: "late" });
  assertEquals(await ask(fixture.a, late), false);
  await fixture.clock.advance(500);
  assertEquals(await pending(fixture), ["one", "two", "three", "late"]);
  for (const { over } of sleepers) over.abort();
  for (const claim of [holder, late, ...waiters]) assert(await fixture.a.release(claim));
});

testWithFixture(
  "attempt() granted with the heartbeat that restores places gets no place",
  async (fixture) => {
    await holderOf(fixture.a);
    const waiter = claimOf();
    assertEquals(await ask(fixture.b, waiter), false);
    const asleep = sleeper(fixture.b, waiter);
    fixture.sql("DELETE FROM holdfast_holders; DELETE FROM holdfast_queue; DELETE FROM holdfast_clients");
    const writer = fixture.lock();
    // The sign of life waits for the file, and the attempt behind it: they share a transaction.
    await fixture.clock.advance(300);
    assert(asleep.woken);
    const asking = ask(fixture.b, waiter);
    await settled();
    writer[Symbol.dispose]();
    await fixture.clock.advance(10);
    assertEquals(await asking, true);
    assertEquals(await pending(fixture), []);
    assert(await fixture.b.release(waiter));
  },
);

testWithFixture("release() of a waiter that the file has lost does not restore it", async (fixture) => {
  const [holder, leaves, stays] = [claimOf(), claimOf(), claimOf({ owner: "stays" })];
  await grantAll(fixture.a, [holder]);
  await queueAll(fixture.b, [leaves, stays]);
  const woken = sleepAll(fixture.b, [stays, leaves]);
  await fixture.clock.advance(100);
  fixture.sql("DELETE FROM holdfast_queue; DELETE FROM holdfast_clients");
  const writer = fixture.lock();
  // The next sign of life is due meanwhile, and goes ahead of the release.
  await fixture.clock.advance(500);
  const released = fixture.b.release(leaves);
  writer[Symbol.dispose]();
  await fixture.clock.advance(50);
  await released;
  assertEquals(rows(fixture.path), [holder.owner, "stays"]);
  assertEquals(woken, []);
  for (const claim of [holder, stays]) assert(await fixture.b.release(claim));
});

testWithFixture("attempt() that grants takes the waiter out of the queue", async (fixture) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  await grantAll(fixture.a, [holder]);
  await queueAll(fixture.b, [waiter]);
  await fixture.a.release(holder);
  await grantAll(fixture.b, [waiter]);
  assertEquals(rows(fixture.path), [waiter.owner], "its hold alone");
  assert(await fixture.b.release(waiter));
});
