import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { RevocationPoll } from "../../../src/stores/sqlite/watch/revocation_poll.ts";
import { LockFile } from "../../../src/stores/sqlite/file/file.ts";
import { ask, claimOf, countRuns, fenceOf, testWithFixture } from "./fixture.ts";

testWithFixture("revocation() reads a lock again only after a counted revocation", async (site) => {
  const file = new LockFile(site.path, site.clock);
  const revocations = new RevocationPoll(file, site.clock);
  const [holder, other] = [claimOf(), claimOf({ name: "other" })];
  for (const claim of [holder, other]) assertEquals(await ask(site.a, claim), true);
  const reads = await countRuns(file, "expiry", "get");
  const over = new AbortController();
  const watching = revocations.wait(holder, over.signal);
  await site.clock.advance(1_000);
  assertEquals(reads.runs, 1);
  assertEquals(await site.a.evict("other"), 1);
  await site.clock.advance(1_000);
  assertEquals(reads.runs, 2);
  over.abort();
  await watching;
  file.close(() => {});
  assert(await site.a.release(holder));
});

testWithFixture("attempt() and evict() count a revocation only when they delete a holder", async (site) => {
  const count = () => {
    using database = new DatabaseSync(site.path);
    return database.prepare("SELECT count FROM holdfast_evictions").get()?.["count"];
  };
  const [holder, thief] = [claimOf({ lease: 1_000 }), claimOf()];
  assertEquals(await site.a.evict("name"), 0);
  await fenceOf(site.a.attempt(thief, { enqueue: false, steal: true }));
  assert(await site.a.release(thief));
  assertEquals(await ask(site.a, holder), true);
  assertEquals(count(), 0);
  await site.clock.advance(1_000);
  assertEquals(await ask(site.a, thief), true);
  assertEquals(count(), 1, "a lease had ended");
  assertEquals(await site.a.evict("name"), 1);
  assertEquals(count(), 2);
});

testWithFixture("revocation() that is called when another one resolves makes one timer", async (site) => {
  const [holder, other] = [claimOf(), claimOf({ name: "other" })];
  for (const claim of [holder, other]) assertEquals(await ask(site.a, claim), true);
  const over = new AbortController();
  const watching = site.a.revocation(holder, over.signal).then(() => site.a.revocation(other, over.signal));
  await site.clock.advance(100);
  assertEquals(await site.b.evict("name"), 1);
  await site.clock.advance(50);
  assertEquals(site.clock.pending, 1);
  over.abort();
  await watching;
  assertEquals(site.clock.pending, 0);
  assert(await site.a.release(other));
});
