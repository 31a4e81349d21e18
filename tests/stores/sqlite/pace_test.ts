import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../../src/time/clock.ts";
import { FileStore } from "../../../src/stores/sqlite/store.ts";
import { Client } from "./client.ts";
import { ask, claimOf, countRuns, type Fixture, testWithFixture } from "./fixture.ts";
import { grantAll, holderOf, queueAll, sleepAll, sleeper } from "./waiting.ts";

/** A connection that notes when it polls again, and on which reading the clock takes some time. */
function watched(fixture: Fixture): { store: FileStore; pauses: number[]; slow: (ms: number) => void } {
  const pauses: number[] = [];
  let slowness = 0;
  const clock: Clock = {
    now: () => {
      fixture.clock.stall(slowness);
      return fixture.clock.now();
    },
    sleep: (ms, signal) => fixture.clock.sleep(ms, signal),
    timer: (ms, run) => {
      pauses.push(ms);
      return fixture.clock.timer(ms, run);
    },
  };
  return { store: new FileStore(fixture.path, undefined, clock), pauses, slow: (ms) => slowness = ms };
}

testWithFixture("wakeup() polls every millisecond at first, less often while nothing changes", async (fixture) => {
  const { store, pauses } = watched(fixture);
  const [holder, waiter] = [claimOf({ lease: 3_600_000 }), claimOf()];
  await grantAll(fixture.a, [holder]);
  await queueAll(store, [waiter]);
  sleepAll(store, [waiter]);
  for (const [ms, least, most] of [[16, 14, 18], [164, 30, 50], [1_000, 48, 75], [1_000, 48, 56]] as const) {
    pauses.length = 0;
    await fixture.clock.advance(ms);
    assert(pauses.length >= least && pauses.length <= most, `${pauses.length} polls in ${ms} ms`);
    assert(pauses.every((pause) => pause >= 1 && pause <= 20));
  }
  for (const claim of [holder, waiter]) await store.release(claim);
  store.close();
});

testWithFixture("wakeup() polls no more often than the waiters ahead can hand the lock on", async (fixture) => {
  const { store, pauses } = watched(fixture);
  const [holder, ...ahead] = Array.from({ length: 11 }, () => claimOf());
  const waiter = claimOf();
  await grantAll(fixture.a, [holder!]);
  await queueAll(fixture.a, ahead);
  await queueAll(store, [waiter]);
  sleepAll(store, [waiter]);
  await fixture.clock.advance(2);
  pauses.length = 0;
  await fixture.clock.advance(100);
  assertEquals(pauses.filter((pause) => pause !== 10), []);
  for (const claim of [holder!, waiter, ...ahead]) await store.release(claim);
  store.close();
});

testWithFixture("wakeup() polls every millisecond again after each change of holders", async (fixture) => {
  const holders = Array.from({ length: 6 }, () => claimOf());
  const waiter = claimOf();
  await grantAll(fixture.a, holders.slice(0, 1));
  await queueAll(fixture.a, holders.slice(1));
  await queueAll(fixture.b, [waiter]);
  const woken = sleepAll(fixture.b, [waiter]);
  await fixture.clock.advance(30_000);
  for (const [i, holder] of holders.entries()) {
    assertEquals(woken, []);
    assert(await fixture.a.release(holder));
    if (i + 1 < holders.length) await grantAll(fixture.a, [holders[i + 1]!]);
    // The first change is seen late, as nothing had changed for long.
    if (i + 1 < holders.length) await fixture.clock.advance(22);
  }
  await fixture.clock.advance(3);
  assertEquals(woken, [waiter]);
  await grantAll(fixture.b, [waiter]);
  assert(await fixture.b.release(waiter));
});

testWithFixture("wakeup() resolves for 32 at once, and for the others a millisecond later", async (fixture) => {
  const holder = claimOf();
  const readers = Array.from({ length: 40 }, () => claimOf({ mode: "shared" }));
  await grantAll(fixture.a, [holder]);
  await queueAll(fixture.b, readers);
  const woken = sleepAll(fixture.b, readers);
  await fixture.clock.advance(1_000);
  await fixture.a.release(holder);
  for (let ms = 0; ms < 20 && woken.length === 0; ms++) await fixture.clock.advance(1);
  assertEquals(woken, readers.slice(0, 32));
  await fixture.clock.advance(1);
  assertEquals(woken, readers);
  await grantAll(fixture.b, readers);
  for (const reader of readers) assert(await fixture.b.release(reader));
});

testWithFixture("wakeup() leaves queues to the next poll when one takes long", async (fixture) => {
  const { store, pauses, slow } = watched(fixture);
  const names = Array.from({ length: 12 }, (_, i) => `${i}`);
  const holders = names.map((name) => claimOf({ name }));
  const waiters = names.map((name) => claimOf({ name }));
  await grantAll(fixture.a, holders);
  await queueAll(store, waiters);
  const woken = sleepAll(store, waiters);
  await fixture.clock.advance(5_000);
  slow(1);
  pauses.length = 0;
  await fixture.a.release(claimOf());
  await fixture.clock.advance(20);
  assertEquals(pauses[0], 1, "though nothing has changed for the queues that it has checked");
  for (const holder of holders) await fixture.a.release(holder);
  for (let polls = 0; polls < 200 && woken.length < waiters.length; polls++) {
    const before = woken.length;
    pauses.length = 0;
    // The file has changed: every queue is to be checked again.
    await fixture.a.release(claimOf());
    await fixture.clock.advance(1);
    if (pauses.length > 0 && woken.length < waiters.length) assertEquals([...new Set(pauses)], [1]);
    if (pauses.length === 1) assert(woken.length - before < waiters.length / 2, "one poll takes not as long");
  }
  slow(0);
  assertEquals(new Set(woken).size, waiters.length);
  await grantAll(store, waiters);
  for (const waiter of waiters) assert(await store.release(waiter));
  store.close();
});

testWithFixture("wakeup() writes nothing but heartbeats while nothing changes", async (fixture) => {
  const holder = await holderOf(fixture.a);
  const waiters = Array.from({ length: 10 }, (_, i) => claimOf({ name: i % 2 === 0 ? "name" : "other" }));
  const other = await holderOf(fixture.a, { name: "other" });
  for (const waiter of waiters) assertEquals(await ask(fixture.b, waiter), false);
  const sleepers = waiters.map((waiter) => sleeper(fixture.b, waiter));
  using observer = new DatabaseSync(fixture.path);
  // It changes whenever another connection has written.
  const version = () => observer.prepare("PRAGMA data_version").get()?.["data_version"];
  let [writes, before] = [0, version()];
  for (let ms = 0; ms < 2_000; ms += 10) {
    await fixture.clock.advance(10);
    if (version() !== before) writes++;
    before = version();
  }
  assert(writes >= 6 && writes <= 8, `${writes} writes in 2 s`);
  for (const { over } of sleepers) over.abort();
  for (const claim of [holder, other, ...waiters]) assert(await fixture.b.release(claim));
});

testWithFixture("Poller.add() does not delay the next poll", async (fixture) => {
  using client = new Client(fixture);
  const holder = claimOf();
  assertEquals(await ask(fixture.a, holder), true);
  await client.sleeps(claimOf());
  await client.sleeps(claimOf());
  assertEquals(client.pauses, [1]);
  assert(await fixture.a.release(holder));
});

testWithFixture("Poller polls less often behind other waiters while nobody holds the lock", async (fixture) => {
  using client = new Client(fixture);
  const dead = fixture.openDead();
  const [holder, first] = [claimOf(), claimOf()];
  assertEquals(await ask(fixture.a, holder), true);
  assertEquals(await ask(dead, first), false);
  assert(await fixture.a.release(holder));
  const sleeper = await client.sleeps(claimOf());
  await fixture.clock.advance(1_000);
  client.pauses.length = 0;
  await fixture.clock.advance(200);
  assertEquals([...new Set(client.pauses)], [20]);
  assert(!sleeper.woken);
  dead.close();
});

testWithFixture("Poller wakes a waiter when a lease ends a millisecond after a check", async (fixture) => {
  using client = new Client(fixture);
  const [holder, other] = [claimOf({ lease: 10 }), claimOf({ name: "other" })];
  assertEquals(await ask(fixture.a, holder), true);
  const sleeper = await client.sleeps(claimOf());
  await fixture.clock.advance(8);
  // Another process writes: the waiter checks again.
  assertEquals(await ask(fixture.a, other), true);
  await fixture.clock.advance(1);
  assert(!sleeper.woken);
  await fixture.clock.advance(2);
  assert(sleeper.woken);
  assert(!await fixture.a.release(holder));
  assert(await fixture.a.release(other));
});

testWithFixture("Poller checks a queue twice a second while the file does not change", async (fixture) => {
  using client = new Client(fixture);
  const holder = claimOf();
  assertEquals(await ask(fixture.a, holder), true);
  await client.sleeps(claimOf());
  await fixture.clock.advance(1_000);
  const checks = await countRuns(client.file, "holders", "get");
  await fixture.clock.advance(5_000);
  assert(checks.runs >= 9 && checks.runs <= 10, `${checks.runs} checks in 5 s`);
  assert(await fixture.a.release(holder));
});

testWithFixture("Poller checks queues for 4 ms, and the others a millisecond later", async (fixture) => {
  using client = new Client(fixture);
  const names = Array.from({ length: 8 }, (_, i) => `${i}`);
  const [other, ...holders] = ["other", ...names].map((name) => claimOf({ name }));
  for (const holder of holders) assertEquals(await ask(fixture.a, holder), true);
  for (const name of names) await client.sleeps(claimOf({ name }));
  await fixture.clock.advance(1_200);
  // It changes nothing for them, and they are checked to see that.
  assertEquals(await ask(fixture.a, other!), true);
  const checks = await countRuns(client.file, "holders", "get", () => fixture.clock.stall(1));
  while (checks.runs === 0) await fixture.clock.advance(1);
  assertEquals([checks.runs, client.pauses.at(-1)], [5, 1]);
  while (checks.runs === 5) await fixture.clock.advance(1);
  assertEquals(checks.runs, 8);
  for (const claim of [other!, ...holders]) assert(await fixture.a.release(claim));
});

testWithFixture("Poller wakes a waiter when the last of several leases ends", async (fixture) => {
  using client = new Client(fixture);
  const holders = [10, 300].map((lease) => claimOf({ mode: "shared", lease }));
  for (const holder of holders) assertEquals(await ask(fixture.a, holder), true);
  const sleeper = await client.sleeps(claimOf());
  await fixture.clock.advance(299);
  assert(!sleeper.woken);
  await fixture.clock.advance(3);
  assert(sleeper.woken);
  for (const holder of holders) assert(!await fixture.a.release(holder));
});

testWithFixture("Poller polls every millisecond again when the latest holder is gone", async (fixture) => {
  const ends = {
    "its lease ends": () => fixture.clock.advance(500),
    "it releases": async () => {
      await fixture.a.evict("name");
      await fixture.clock.advance(20);
    },
  };
  for (const [how, end] of Object.entries(ends)) {
    using client = new Client(fixture);
    const dead = fixture.openDead();
    const holder = claimOf({ lease: 1_500 });
    assertEquals(await ask(fixture.a, holder), true);
    assertEquals(await ask(dead, claimOf()), false);
    await client.sleeps(claimOf());
    await fixture.clock.advance(1_000);
    assertEquals(client.pauses.at(-1), 20);
    await end();
    client.pauses.length = 0;
    await fixture.clock.advance(10);
    assert(client.pauses.length >= 5 && Math.max(...client.pauses) < 2, how);
    await fixture.a.release(holder);
    dead.close();
  }
});

testWithFixture("Poller polls every millisecond again when one of several holders releases", async (fixture) => {
  using client = new Client(fixture);
  const holders = [claimOf({ mode: "shared" }), claimOf({ mode: "shared" })];
  for (const holder of holders) assertEquals(await ask(fixture.a, holder), true);
  await client.sleeps(claimOf());
  await fixture.clock.advance(1_000);
  assert(await fixture.a.release(holders[1]!));
  await fixture.clock.advance(20);
  client.pauses.length = 0;
  await fixture.clock.advance(10);
  assert(client.pauses.length >= 5 && Math.max(...client.pauses) < 2);
  assert(await fixture.a.release(holders[0]!));
});
