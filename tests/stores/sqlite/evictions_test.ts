import { assert, assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import { deadline } from "@std/async";
import { acquire, LockLostError } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import type { Claim } from "../../../src/store.ts";
import { ask, claimOf, fenceOf, handles, LEASE, testOnSite } from "./site.ts";

testOnSite("attempt() that steals takes the lock from all who hold it, ahead of the queue", async (site) => {
  for (const mode of ["exclusive", "shared"] as const) {
    const losers = handles("loser", { mode }, { mode });
    const waiter = claimOf();
    const thief = claimOf();
    const fence = await fenceOf(site.a.attempt(losers[0]!, { enqueue: false }));
    assertEquals(await ask(site.a, losers[1]!), true);
    assertEquals(await ask(site.a, waiter), false);
    const stolen = await fenceOf(site.b.attempt(thief, { enqueue: true, steal: true }));
    assert(stolen > fence);
    assertEquals(await fenceOf(site.b.attempt(thief, { enqueue: true, steal: true })), stolen, "a repeated request");
    for (const loser of losers) {
      assertEquals(await site.a.renew(loser), "lost");
      assertEquals(await site.a.release(loser), false);
    }
    assertEquals(await ask(site.a, waiter), false);
    assert(await site.b.release(thief));
    assertEquals(await ask(site.a, waiter), true);
    await site.a.release(waiter);
  }
});

testOnSite("attempt() that steals from a semaphore makes it an exclusive lock", async (site) => {
  const [one, two] = [claimOf({ permits: 2 }), claimOf({ permits: 2 })];
  const thief = claimOf();
  assertEquals(await ask(site.a, one), true);
  await site.b.attempt(thief, { enqueue: true, steal: true });
  assertEquals(await ask(site.a, two), { present: "exclusive", own: false });
  await site.b.release(thief);
});

testOnSite("attempt() that steals from its own owner takes nothing", async (site) => {
  const [first, second] = handles("me", {}, {});
  assertEquals(await ask(site.a, first!), true);
  await site.b.attempt(second!, { enqueue: true, steal: true });
  for (const claim of [first!, second!]) assert(await site.a.release(claim));
});

testOnSite("evict() takes the lock from all who hold it, and leaves the queue", async (site) => {
  assertEquals(await site.a.evict("name"), 0);
  const readers = [claimOf({ mode: "shared" }), claimOf({ mode: "shared" })];
  const [brief, other] = [claimOf({ mode: "shared", lease: 100 }), claimOf({ name: "other" })];
  const writer = claimOf();
  for (const claim of [...readers, brief, other]) assertEquals(await ask(site.a, claim), true);
  await site.clock.advance(200);
  assertEquals(await ask(site.a, writer), false);
  assertEquals(await site.b.evict("name"), 2);
  for (const reader of readers) assertEquals(await site.a.renew(reader), "lost");
  assertEquals(await site.a.renew(other), "renewed");
  assertEquals(await ask(site.a, writer), true);
  for (const claim of [writer, other]) assert(await site.a.release(claim));
});

testOnSite("eviction() resolves for those whose lock was taken, and for no others", async (site) => {
  const [taken, kept] = [claimOf(), claimOf({ name: "kept" })];
  for (const claim of [taken, kept]) assertEquals(await ask(site.a, claim), true);
  const over = new AbortController();
  const heard: string[] = [];
  const watching = [taken, kept].map(async (claim) => {
    await site.a.eviction(claim, over.signal);
    heard.push(claim.name);
  });
  await site.clock.advance(100);
  assertEquals(await site.b.evict("nobody has it"), 0);
  await site.clock.advance(100);
  assertEquals(heard, []);
  assertEquals(await site.b.evict("name"), 1);
  await site.clock.advance(100);
  assertEquals(heard, ["name"]);
  over.abort();
  await Promise.all(watching);
  assertEquals(site.clock.pending, 0);
  await site.a.release(kept);
});

testOnSite("eviction() resolves when the lock was taken before it was called", async (site) => {
  const [claim, other] = [claimOf(), claimOf({ name: "other" })];
  for (const held of [claim, other]) assertEquals(await ask(site.a, held), true);
  const over = new AbortController();
  const watching = site.a.eviction(other, over.signal);
  await site.clock.advance(100);
  await site.b.evict("name");
  await site.clock.advance(100);
  const heard = site.a.eviction(claim, new AbortController().signal);
  await site.clock.advance(100);
  await heard;
  over.abort();
  await watching;
  await site.a.eviction(other, over.signal);
  await site.a.release(other);
});

testOnSite("eviction() resolves when the lock was given away while the clock was wrong", async (site) => {
  const next = {
    "granted": (claim: Claim) => ask(site.b, claim),
    "stolen": (claim: Claim) => site.b.attempt(claim, { enqueue: false, steal: true }),
    "evicted": ({ name }: Claim) => site.b.evict(name),
  };
  for (const [name, happens] of Object.entries(next)) {
    const [holder, other] = [claimOf({ name }), claimOf({ name })];
    assertEquals(await ask(site.a, holder), true);
    let heard = false;
    const watching = site.a.eviction(holder, new AbortController().signal).then(() => heard = true);
    await site.clock.advance(100);
    site.clock.setWall(2 * LEASE);
    await happens(other);
    site.clock.setWall(-2 * LEASE);
    await site.clock.advance(100);
    assert(heard, name);
    await watching;
    assertEquals(await site.a.renew(holder), "lost");
    await site.b.release(other);
  }
});

testOnSite("eviction() looks no more when the file is closed", async (site) => {
  const store = site.open();
  const claim = claimOf();
  assertEquals(await ask(store, claim), true);
  const heard = store.eviction(claim, new AbortController().signal);
  await site.clock.advance(100);
  const over = new AbortController();
  const other = site.a.eviction(claim, over.signal);
  await site.clock.advance(100);
  store.close();
  assertEquals(site.clock.pending, 1, "that of the other connection");
  over.abort();
  await other;
  assertEquals(await Promise.race([heard, "still open"]), "still open");
  await site.a.release(claim);
});

testOnSite("acquire() with steal aborts the signal of the holder soon, and its release rejects", async (site) => {
  using mine = sqlite(site.path);
  using theirs = sqlite(site.path);
  const lost = await acquire(mine, "name");
  const aborted = new Promise<unknown>((resolve) =>
    lost.signal.addEventListener("abort", () => resolve(lost.signal.reason))
  );
  await using thief = await acquire(theirs, "name", { steal: true });
  // Its next renewal would come after 10 s.
  assertInstanceOf(await deadline(aborted, 5_000), LockLostError);
  assert(!lost.held);
  assert(thief.fence > lost.fence);
  await assertRejects(() => lost.release(), LockLostError);
});

testOnSite("query() lists who holds locks and who waits, in order, in all processes", async (site) => {
  const holders = [
    claimOf({ name: "b", owner: "1", mode: "shared" }),
    claimOf({ name: "b", owner: "2", mode: "shared" }),
    claimOf({ name: "a", owner: "3", permits: 2 }),
    claimOf({ name: "c", owner: "4" }),
  ];
  const waiters = ["6", "5", "7"].map((owner) => claimOf({ name: "c", owner, mode: "shared" }));
  const gone = [claimOf({ name: "d", lease: 100 }), claimOf({ name: "d" })];
  for (const claim of gone) await ask(site.b, claim);
  await site.clock.advance(1_000);
  for (const claim of [...holders, ...waiters]) await ask(site.b, claim);
  assertEquals(await site.a.query(), {
    held: holders.map(({ name, owner, mode, permits }) => ({ name, owner, mode, permits })),
    pending: waiters.map(({ name, owner, mode, permits }) => ({ name, owner, mode, permits })),
  });
  for (const claim of [...holders, ...waiters, ...gone]) await site.a.release(claim);
  assertEquals(await site.b.query(), { held: [], pending: [] });
});
