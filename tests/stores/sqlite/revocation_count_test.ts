import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { RevocationPoll } from "../../../src/stores/sqlite/watch/revocation_poll.ts";
import { LockFile } from "../../../src/stores/sqlite/file/file.ts";
import { ask, claimOf, countRuns, fenceOf, testWithFixture } from "./fixture.ts";

testWithFixture("revocation() reads a lock again only after a counted revocation", async (fixture) => {
  const file = new LockFile(fixture.path, fixture.clock);
  const revocations = new RevocationPoll(file, fixture.clock);
  const [holder, other] = [claimOf(), claimOf({ name: "other" })];
  for (const claim of [holder, other]) assertEquals(await ask(fixture.a, claim), true);
  const reads = await countRuns(file, "expiry", "get");
  const over = new AbortController();
  const watching = revocations.wait(holder, over.signal);
  await fixture.clock.advance(1_000);
  assertEquals(reads.runs, 1);
  assertEquals(await fixture.a.evict("other"), 1);
  await fixture.clock.advance(1_000);
  assertEquals(reads.runs, 2);
  over.abort();
  await watching;
  file.close(() => {});
  assert(await fixture.a.release(holder));
});

testWithFixture("attempt() and evict() count a revocation only when they delete a holder", async (fixture) => {
  const count = () => {
    using database = new DatabaseSync(fixture.path);
    return database.prepare("SELECT count FROM holdfast_evictions").get()?.["count"];
  };
  const [holder, thief] = [claimOf({ lease: 1_000 }), claimOf()];
  assertEquals(await fixture.a.evict("name"), 0);
  await fenceOf(fixture.a.attempt(thief, { enqueue: false, steal: true }));
  assert(await fixture.a.release(thief));
  assertEquals(await ask(fixture.a, holder), true);
  assertEquals(count(), 0);
  await fixture.clock.advance(1_000);
  assertEquals(await ask(fixture.a, thief), true);
  assertEquals(count(), 1, "a lease had ended");
  assertEquals(await fixture.a.evict("name"), 1);
  assertEquals(count(), 2);
});

testWithFixture("revocation() that is called when another one resolves makes one timer", async (fixture) => {
  const [holder, other] = [claimOf(), claimOf({ name: "other" })];
  for (const claim of [holder, other]) assertEquals(await ask(fixture.a, claim), true);
  const over = new AbortController();
  let revoked = false;
  const watching = fixture.a.revocation(holder, over.signal).then(() => {
    revoked = true;
    return fixture.a.revocation(other, over.signal);
  });
  await fixture.clock.advance(100);
  assertEquals(await fixture.b.evict("name"), 1);
  await fixture.clock.advance(50);
  assertEquals([revoked, fixture.clock.pending], [true, 1]);
  over.abort();
  await watching;
  assertEquals(fixture.clock.pending, 0);
  assert(await fixture.a.release(other));
});
