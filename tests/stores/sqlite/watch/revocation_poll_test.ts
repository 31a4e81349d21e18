import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { deadline } from "@std/async";
import { acquire, LockLostError } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import { DatabaseSync } from "node:sqlite";
import type { Claim } from "../../../../src/contract/store.ts";
import { HANG_MS } from "../../../support/until.ts";
import { settled } from "../../../support/virtual_clock.ts";
import { ask, claimOf, LEASE, testWithFixture } from "../fixture.ts";

testWithFixture("revocation() resolves for handles whose lock was revoked, and no others", async (fixture) => {
  const [taken, kept] = [claimOf(), claimOf({ name: "kept" })];
  for (const claim of [taken, kept]) assertEquals(await ask(fixture.a, claim), true);
  const over = new AbortController();
  const revoked: string[] = [];
  const watching = [taken, kept].map(async (claim) => {
    await fixture.a.revocation(claim, over.signal);
    revoked.push(claim.name);
  });
  await fixture.clock.advance(100);
  assertEquals(await fixture.b.evict("nobody has it"), 0);
  await fixture.clock.advance(100);
  assertEquals(revoked, []);
  assertEquals(await fixture.b.evict("name"), 1);
  await fixture.clock.advance(100);
  assertEquals(revoked, ["name"]);
  over.abort();
  await Promise.all(watching);
  assertEquals(fixture.clock.pending, 0);
  await fixture.a.release(kept);
});

testWithFixture("revocation() resolves when the lock was revoked before the call", async (fixture) => {
  const [claim, other] = [claimOf(), claimOf({ name: "other" })];
  for (const held of [claim, other]) assertEquals(await ask(fixture.a, held), true);
  const over = new AbortController();
  const watching = fixture.a.revocation(other, over.signal);
  await fixture.clock.advance(100);
  await fixture.b.evict("name");
  await fixture.clock.advance(100);
  const revoked = fixture.a.revocation(claim, new AbortController().signal);
  await fixture.clock.advance(100);
  await revoked;
  over.abort();
  await watching;
  await fixture.a.revocation(other, over.signal);
  await fixture.a.release(other);
});

testWithFixture("revocation() resolves when the lock was lost while the clock was wrong", async (fixture) => {
  const next = {
    "granted": (claim: Claim) => ask(fixture.b, claim),
    "stolen": (claim: Claim) => fixture.b.attempt(claim, { enqueue: false, steal: true }),
    "evicted": ({ name }: Claim) => fixture.b.evict(name),
  };
  for (const [name, happens] of Object.entries(next)) {
    const [holder, other] = [claimOf({ name }), claimOf({ name })];
    assertEquals(await ask(fixture.a, holder), true);
    let revoked = false;
    const watching = fixture.a.revocation(holder, new AbortController().signal).then(() => revoked = true);
    await fixture.clock.advance(100);
    fixture.clock.setWall(2 * LEASE);
    await happens(other);
    fixture.clock.setWall(-2 * LEASE);
    await fixture.clock.advance(100);
    assert(revoked, name);
    await watching;
    assertEquals(await fixture.a.renew(holder), "lost");
    await fixture.b.release(other);
  }
});

testWithFixture("revocation() stops polling when the file is closed", async (fixture) => {
  const store = fixture.open();
  const claim = claimOf();
  assertEquals(await ask(store, claim), true);
  const revoked = store.revocation(claim, new AbortController().signal);
  await fixture.clock.advance(100);
  const over = new AbortController();
  const other = fixture.a.revocation(claim, over.signal);
  await fixture.clock.advance(100);
  store.close();
  assertEquals(fixture.clock.pending, 1, "that of the other connection");
  over.abort();
  await other;
  assertEquals(await Promise.race([revoked, "still open"]), "still open");
  await fixture.a.release(claim);
});

testWithFixture("acquire() with steal soon aborts the holder's signal", async (fixture) => {
  using mine = sqlite(fixture.path);
  using theirs = sqlite(fixture.path);
  // Its next renewal would come after 20 minutes.
  const lost = await acquire(mine, "name", { lease: 3_600_000 });
  const aborted = new Promise<unknown>((resolve) =>
    lost.signal.addEventListener("abort", () => resolve(lost.signal.reason))
  );
  await using thief = await acquire(theirs, "name", { steal: true });
  assertInstanceOf(await deadline(aborted, HANG_MS), LockLostError);
  assert(!lost.held);
  assert(thief.fence > lost.fence);
  await assertRejects(() => lost.release(), LockLostError);
});

testWithFixture("revocation() resolves within 50 ms, also while other watches begin and end", async (fixture) => {
  const [taken, kept] = [claimOf(), claimOf({ name: "kept" })];
  for (const claim of [taken, kept]) assertEquals(await ask(fixture.a, claim), true);
  let revoked = false;
  const watching = fixture.a.revocation(taken, new AbortController().signal).then(() => revoked = true);
  const further: [AbortController, Promise<void>][] = [];
  const watch = () => {
    const over = new AbortController();
    further.push([over, fixture.a.revocation(kept, over.signal)]);
  };
  watch();
  await fixture.clock.advance(100);
  for (const [over] of further) over.abort();
  await fixture.clock.advance(60);
  await fixture.b.evict("name");
  for (let ms = 0; ms < 50; ms += 10) {
    watch();
    await fixture.clock.advance(10);
  }
  assert(revoked);
  for (const [over] of further) over.abort();
  await Promise.all([watching, ...further.map(([, watched]) => watched)]);
  assertEquals(fixture.clock.pending, 0);
  await fixture.a.release(kept);
});

testWithFixture("revocation() goes on after the file could not be read", async (fixture) => {
  const claim = claimOf();
  assertEquals(await ask(fixture.a, claim), true);
  let revoked = false;
  const watching = fixture.a.revocation(claim, new AbortController().signal).then(() => revoked = true);
  await fixture.clock.advance(100);
  fixture.sql("ALTER TABLE holdfast_evictions RENAME TO holdfast_away");
  await fixture.clock.advance(200);
  assert(!revoked);
  fixture.sql("ALTER TABLE holdfast_away RENAME TO holdfast_evictions");
  await fixture.b.evict("name");
  await fixture.clock.advance(50);
  assert(revoked);
  await watching;
});

testWithFixture("revocation() and wakeup() share a listener on the signal, and leave none", async (fixture) => {
  const [holder, waiter, taken] = [claimOf(), claimOf(), claimOf({ name: "taken" })];
  for (const claim of [holder, taken]) assertEquals(await ask(fixture.a, claim), true);
  assertEquals(await ask(fixture.a, waiter), false);
  const { signal } = new AbortController();
  const listeners = new Set<unknown>();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners.add(args[1]);
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners.delete(args[1]);
    removeEventListener.apply(signal, args);
  };
  const over = [fixture.a.revocation(taken, signal), fixture.a.wakeup(waiter, signal)];
  assertEquals(listeners.size, 1);
  await fixture.b.evict("taken");
  await fixture.a.release(holder);
  await fixture.clock.advance(50);
  await Promise.all(over);
  assertEquals(listeners.size, 0);
  await fixture.a.release(waiter);
});

testWithFixture(
  "revocation() stops polling when a busy file is closed",
  async (fixture) => {
    using database = new DatabaseSync(fixture.path);
    database.exec("BEGIN EXCLUSIVE");
    const store = fixture.open();
    void store.revocation(claimOf(), new AbortController().signal);
    await fixture.clock.advance(60);
    assertEquals(fixture.clock.pending, 1, "it waits for the file");
    store.close();
    await settled();
    assertEquals(fixture.clock.pending, 0);
  },
);

testWithFixture("revocation() resolves when a sweep took the lock while the clock was wrong", async (fixture) => {
  const [holder, passerBy] = [claimOf(), claimOf({ name: "other" })];
  assertEquals(await ask(fixture.a, holder), true);
  let revoked = false;
  const watching = fixture.a.revocation(holder, new AbortController().signal).then(() => revoked = true);
  await fixture.clock.advance(100);
  fixture.clock.setWall(2 * LEASE);
  for (let writes = 0; writes < 40; writes++) await fixture.b.release(passerBy);
  fixture.clock.setWall(-2 * LEASE);
  await fixture.clock.advance(50);
  assert(revoked);
  await watching;
  assertEquals(await fixture.a.renew(holder), "lost");
});

testWithFixture("revocation() leaves no timer when the last watched lock is revoked", async (fixture) => {
  const holder = claimOf();
  assertEquals(await ask(fixture.a, holder), true);
  const revoked = fixture.a.revocation(holder, new AbortController().signal);
  await fixture.clock.advance(100);
  await fixture.b.evict("name");
  await fixture.clock.advance(50);
  await revoked;
  assertEquals(fixture.clock.pending, 0);
});
