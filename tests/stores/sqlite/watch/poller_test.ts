import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { settled } from "../../../support/virtual_clock.ts";
import { Client } from "../client.ts";
import { ABANDONED, ask, claimOf, countRuns, handles, testWithFixture } from "../fixture.ts";

testWithFixture("Poller.check() does not read the file when nobody waits for the name", async (fixture) => {
  using client = new Client(fixture);
  let reads = 0;
  client.file.read = () => {
    reads++;
    return Promise.reject(new Error("not to be read"));
  };
  await client.poller.check("name");
  assertEquals(reads, 0);
});

testWithFixture("Poller.check() that cannot read the file leaves the check to the next poll", async (fixture) => {
  using client = new Client(fixture);
  const [holder, waiter] = [claimOf(), claimOf()];
  assertEquals(await ask(fixture.a, holder), true);
  const sleeper = await client.sleeps(waiter);
  await fixture.clock.advance(100);
  client.file.read = () => Promise.reject(new Error("disk I/O error"));
  await client.poller.check("name");
  assertEquals(client.waiters.queue("name")?.dataVersion, undefined);
  assert(!sleeper.woken);
  const check = client.poller.check("name");
  client.poller.delete(waiter);
  await check;
  assert(await fixture.a.release(holder));
});

testWithFixture(
  "Poller wakes all waiters when it cannot read the file",
  async (fixture) => {
    using client = new Client(fixture);
    const holder = claimOf();
    assertEquals(await ask(fixture.a, holder), true);
    const sleepers = [await client.sleeps(claimOf()), await client.sleeps(claimOf({ name: "name" }))];
    await fixture.clock.advance(100);
    assertEquals(sleepers.map(({ woken }) => woken), [false, false]);
    client.file.read = () => Promise.reject(new Error("disk I/O error"));
    await fixture.clock.advance(20);
    assertEquals(sleepers.map(({ woken }) => woken), [true, true]);
    assert(await fixture.a.release(holder));
  },
);

testWithFixture("Poller.close() wakes all waiters", async (fixture) => {
  using client = new Client(fixture);
  const holder = claimOf();
  assertEquals(await ask(fixture.a, holder), true);
  const sleepers = [await client.sleeps(claimOf()), await client.sleeps(claimOf({ name: "other" }))];
  client.poller.close();
  await settled();
  assertEquals(sleepers.map(({ woken }) => woken), [true, true]);
  assertEquals(fixture.clock.pending, 0);
  assert(await fixture.a.release(holder));
});

testWithFixture("Poller.wakeup() resolves at once if the signal has aborted or the file closed", async (fixture) => {
  using client = new Client(fixture);
  const [holder, waiter] = [claimOf(), claimOf()];
  assertEquals(await ask(fixture.a, holder), true);
  await client.sleeps(waiter);
  const resolved: string[] = [];
  void client.poller.wakeup(waiter, AbortSignal.abort()).then(() => resolved.push("aborted"));
  await settled();
  assertEquals(resolved, ["aborted"]);
  client[Symbol.dispose]();
  void client.poller.wakeup(waiter, new AbortController().signal).then(() => resolved.push("closed"));
  await settled();
  assertEquals(resolved, ["aborted", "closed"]);
  assert(await fixture.a.release(holder));
});

testWithFixture("Poller.wakeup() of a handle that does not wait resolves when the signal aborts", async (fixture) => {
  using client = new Client(fixture);
  const over = new AbortController();
  const wakeup = client.poller.wakeup(claimOf(), over.signal);
  over.abort();
  await wakeup;
});

testWithFixture("Poller reads the owners of a lock only while handles of owners wait", async (fixture) => {
  using client = new Client(fixture);
  const [holder, waiter] = [claimOf(), claimOf()];
  const [handle] = handles("me", {});
  assertEquals(await ask(fixture.a, holder), true);
  const checks = await countRuns(client.file, "holders", "get");
  const searches = await countRuns(client.file, "ownerKeys", "all");
  await client.sleeps(waiter);
  await fixture.clock.advance(2_000);
  assert(checks.runs > 0);
  assertEquals(searches.runs, 0);
  await client.sleeps(handle!);
  await fixture.clock.advance(2_000);
  assert(searches.runs > 0);
  assert(await fixture.a.release(holder));
});

testWithFixture("Poller writes heartbeats, and enqueues only waiters that the file has lost", async (fixture) => {
  using client = new Client(fixture);
  const holder = claimOf();
  assertEquals(await ask(fixture.a, holder), true);
  await client.sleeps(claimOf());
  const entries = await countRuns(client.file, "enqueue", "get");
  await fixture.clock.advance(2_000);
  assertEquals(entries.runs, 0);
  fixture.sql("DELETE FROM holdfast_clients");
  await fixture.clock.advance(500);
  assertEquals(entries.runs, 1, "others have forgotten the client");
  assert(await fixture.a.release(holder));
});

testWithFixture("Poller stops polling when a waiter that it wakes closes the file", async (fixture) => {
  const store = fixture.open();
  const holder = claimOf({ lease: 1_000 });
  const waiters = [claimOf(), claimOf()];
  for (const claim of [holder, ...waiters]) await ask(store, claim);
  store.wakeup(waiters[0]!, new AbortController().signal).then(() => store.close());
  await fixture.clock.advance(1_100);
  assert(store.closed);
  assertEquals(fixture.clock.pending, 0);
  assert(!await fixture.a.release(holder));
});

testWithFixture("Poller does not wake a waiter behind one that does not sleep", async (fixture) => {
  const [holder, awake, asleep] = [claimOf(), claimOf(), claimOf()];
  for (const claim of [holder, awake, asleep]) await ask(fixture.a, claim);
  const over = new AbortController();
  let woken = false;
  const wakeup = fixture.a.wakeup(asleep, over.signal).then(() => woken = true);
  assert(await fixture.b.release(holder));
  await fixture.clock.advance(100);
  assert(!woken);
  over.abort();
  await wakeup;
  for (const claim of [awake, asleep]) assert(await fixture.a.release(claim));
});

testWithFixture("Poller.wakeup() notes that a waiter was woken", async (fixture) => {
  using client = new Client(fixture);
  const [holder, waiter] = [claimOf(), claimOf()];
  assertEquals(await ask(fixture.a, holder), true);
  const sleeper = await client.sleeps(waiter);
  await fixture.clock.advance(100);
  assertEquals(client.waiters.get(waiter)?.woken, false);
  assert(await fixture.a.release(holder));
  await fixture.clock.advance(50);
  assert(sleeper.woken);
  assertEquals(client.waiters.get(waiter)?.woken, true);
});

testWithFixture("attempt() that grants the last waiter leaves no timer", async (fixture) => {
  const [holder, waiter] = [claimOf(), claimOf()];
  assertEquals(await ask(fixture.a, holder), true);
  assertEquals(await ask(fixture.b, waiter), false);
  assert(await fixture.a.release(holder));
  assertEquals(await ask(fixture.b, waiter), true);
  assertEquals(fixture.clock.pending, 0);
  assert(await fixture.b.release(waiter));
});

testWithFixture("Poller does not wake a handle because its owner holds another lock", async (fixture) => {
  using client = new Client(fixture);
  const [first, second] = handles("me", { name: "other" }, {});
  const holder = claimOf();
  for (const claim of [first!, holder]) assertEquals(await ask(fixture.a, claim), true);
  const sleeper = await client.sleeps(second!);
  await fixture.clock.advance(1_000);
  assert(!sleeper.woken);
  for (const claim of [first!, holder]) assert(await fixture.a.release(claim));
});

testWithFixture("attempt() writes once after a useless wake-up, and only reads from then on", async (fixture) => {
  const [holder, waiter, thief] = [claimOf(), claimOf(), claimOf()];
  assertEquals(await ask(fixture.a, holder), true);
  assertEquals(await ask(fixture.b, waiter), false);
  const wakeup = fixture.b.wakeup(waiter, new AbortController().signal);
  assert(await fixture.a.release(holder));
  await fixture.clock.advance(20);
  await wakeup;
  assert((await fixture.a.attempt(thief, { enqueue: false, steal: true })).granted);
  using observer = new DatabaseSync(fixture.path);
  // It changes whenever another connection has written.
  const version = () => observer.prepare("PRAGMA data_version").get()?.["data_version"];
  const versions = [version()];
  for (let i = 0; i < 3; i++) {
    assertEquals(await ask(fixture.b, waiter), false);
    versions.push(version());
  }
  assertEquals(new Set(versions).size, 2);
  assertEquals(versions[1], versions[3]);
  for (const claim of [waiter, thief]) assert(await fixture.b.release(claim));
});

testWithFixture("attempt() keeps the ticket of a waiter for ten minutes after it has last asked", async (fixture) => {
  const [holder, first, sleeper] = ["holder", "first", "sleeper"].map((owner) => claimOf({ owner, lease: 3_600_000 }));
  assertEquals(await ask(fixture.a, holder!), true);
  for (const waiter of [first!, sleeper!]) assertEquals(await ask(fixture.b, waiter), false);
  const over = new AbortController();
  const wakeup = fixture.b.wakeup(sleeper!, over.signal);
  fixture.clock.stall(601_000);
  assertEquals(await ask(fixture.b, first!), false);
  const pending = async () => (await fixture.a.query()).pending.map(({ owner }) => owner);
  await fixture.clock.advance(ABANDONED + 1_000);
  assertEquals(await pending(), ["sleeper"]);
  assertEquals(await ask(fixture.b, first!), false);
  assertEquals(await pending(), ["first", "sleeper"]);
  over.abort();
  await wakeup;
  for (const claim of [holder!, first!, sleeper!]) assert(await fixture.b.release(claim));
});
