import { assert, assertEquals } from "@std/assert";
import { acquire, tryAcquire } from "@holdfast/lock";
import { redlock } from "@holdfast/lock/redlock";
import type { Claim } from "../../src/contract/store.ts";
import { coordinators } from "../../src/redlock/attempt/coordinators.ts";
import { Masters } from "../support/masters.ts";
import { HANG_MS } from "../support/until.ts";
import { settled } from "../support/virtual_clock.ts";
import type { FaultyNode } from "./faulty_node.ts";
import { after, claimOf, NODE_TIMEOUT, type Quorum, quorum } from "./quorum.ts";

const attempt = { enqueue: false };
const waiting = { enqueue: true };

/** How long the coordinator has had a lock before a waiter does without it, in milliseconds. */
const SETTLED = 1_000;

/** For ever, in milliseconds. */
const FOREVER = 1e9;

/** Makes nodes of which the coordinator of "a" has a lock that no majority has, for so long. */
async function stuck(n: number, ms = SETTLED): Promise<Quorum & { rival: Claim }> {
  const made = quorum(n);
  const rival = claimOf("a", FOREVER);
  assert((await made.nodes[0]!.attempt(rival, attempt)).granted);
  await made.clock.advance(ms);
  return { ...made, rival };
}

/** Who waits at a node, and who holds the lock there. */
async function at(node: FaultyNode): Promise<{ held: string[]; pending: string[] }> {
  const { held, pending } = await node.query();
  return { held: held.map(({ owner }) => owner), pending: pending.map(({ owner }) => owner.slice(0, 36)) };
}

for (const n of [1, 2, 3, 4, 5]) {
  Deno.test(`attempt() on ${n} nodes needs a majority, with the coordinator or without`, async () => {
    const { nodes, store, rival } = await stuck(n);
    // All nodes are asked at once, and then the coordinator first.
    for (const claim of [claimOf(), claimOf()]) {
      assertEquals((await store.attempt(claim, attempt)).granted, n >= 3);
      assertEquals(await store.release(claim), n >= 3);
      await settled();
    }
    assertEquals(await at(nodes[0]!), { held: [rival.owner], pending: [] });
    assertEquals(nodes.slice(1).flatMap(({ names }) => names), []);
  });
}

Deno.test("attempt() of the next waiter does without a coordinator, whose queue it leaves", async () => {
  const { clock, nodes, store, rival } = await stuck(3, 0);
  const claim = claimOf();
  assert(!(await store.attempt(claim, waiting)).granted);
  assertEquals((await at(nodes[0]!)).pending, [claim.owner]);
  await clock.advance(SETTLED);
  assert((await store.attempt(claim, waiting)).granted);
  await settled();
  assertEquals(await at(nodes[0]!), { held: [rival.owner], pending: [] });
  assertEquals(await store.renew(claim), "renewed");
  assertEquals(await store.release(claim), true);
});

Deno.test("attempt() asks no other node while the coordinator's lock is new", async () => {
  const { clock, nodes: [, ...others], store } = await stuck(3, 0);
  const claim = claimOf();
  assert(!(await store.attempt(claim, waiting)).granted);
  for (const node of others) node.calls.length = 0;
  await clock.advance(SETTLED - 1);
  assert(!(await store.attempt(claim, waiting)).granted);
  assertEquals(others.flatMap(({ calls }) => calls), []);
  await clock.advance(1);
  assert((await store.attempt(claim, waiting)).granted);
});

Deno.test("attempt() asks other nodes for no votes while a majority has the lock", async () => {
  const { clock, nodes: [, ...others], open, store } = quorum(3);
  assert((await open().attempt(claimOf(), attempt)).granted);
  const claim = claimOf();
  assert(!(await store.attempt(claim, waiting)).granted);
  await clock.advance(SETTLED);
  for (const node of others) node.calls.length = 0;
  assert(!(await store.attempt(claim, waiting)).granted);
  await settled();
  assertEquals(others.map(({ calls }) => calls), [["inspect"], ["inspect"]]);
});

for (const asked of ["asked by the same store", "asked by another one"]) {
  Deno.test(`attempt() overtakes no waiter at a coordinator that refuses, ${asked}`, async () => {
    const { clock, open, store } = await stuck(3, 0);
    const [first, second] = [claimOf(), claimOf()];
    const other = asked === "asked by the same store" ? store : open();
    for (let ms = 0; ms <= SETTLED; ms += SETTLED / 4) {
      if (ms < SETTLED) assert(!(await store.attempt(first, waiting)).granted);
      assert(!(await other.attempt(second, ms === 0 ? waiting : attempt)).granted);
      await clock.advance(ms < SETTLED ? SETTLED / 4 : 0);
    }
    assert(!(await other.attempt(claimOf(), attempt)).granted);
    assert((await store.attempt(first, waiting)).granted);
    assert(!(await other.attempt(second, waiting)).granted);
    assert(await store.release(first));
    assert((await other.attempt(second, waiting)).granted);
  });
}

Deno.test("attempt() lets those who share a lock join without the coordinator", async () => {
  const { open, store } = await stuck(3);
  const shared = (): Claim => ({ ...claimOf(), mode: "shared" });
  const exclusive = claimOf();
  assert((await store.attempt(shared(), waiting)).granted);
  await settled();
  assert((await open().attempt(shared(), waiting)).granted);
  assert(!(await open().attempt(exclusive, attempt)).granted);
});

Deno.test("attempt() keeps its place when other nodes do not say whether they are free", async () => {
  const { clock, nodes, store, rival } = await stuck(3, 0);
  const claim = claimOf();
  assert(!(await store.attempt(claim, waiting)).granted);
  await clock.advance(SETTLED);
  nodes[1]!.condition = "hanging";
  const { result, ms } = await after(clock, store.attempt(claim, waiting));
  assertEquals("granted" in result && result.granted, false);
  assertEquals(ms, NODE_TIMEOUT);
  assertEquals(await at(nodes[0]!), { held: [rival.owner], pending: [claim.owner] });
  // The answers that come late change nothing.
  nodes[1]!.condition = "healthy";
  await settled();
  assertEquals(nodes.slice(1).flatMap(({ names }) => names), []);
  assert((await store.attempt(claim, waiting)).granted);
});

for (const ms of [0, 60_000]) {
  Deno.test(`attempt() is refused when a rival has the other nodes ${ms} ms later`, async () => {
    const { clock, nodes, open, store } = await stuck(3, 0);
    const [claim, rival] = [claimOf(), claimOf("a", FOREVER)];
    assert(!(await store.attempt(claim, waiting)).granted);
    await clock.advance(SETTLED);
    const [, second, third] = nodes;
    const inspect = third!.inspect.bind(third);
    third!.inspect = async (asked) => {
      const answer = await inspect(asked);
      assertEquals(answer.state, "free");
      for (const node of [second!, third!]) assert((await node.attempt(rival, attempt)).granted);
      clock.stall(ms);
      return answer;
    };
    const { result } = await after(clock, store.attempt(claim, waiting));
    third!.inspect = inspect;
    assertEquals("granted" in result && result.granted, false);
    assertEquals((await at(nodes[0]!)).pending, [claim.owner]);
    for (const node of [second!, third!]) assertEquals((await at(node)).held, [rival.owner]);
    for (const node of [second!, third!]) await node.release(rival);
    await clock.advance(1);
    assert((await store.attempt(claim, waiting)).granted);
    assert(!(await open().attempt(claimOf(), attempt)).granted);
  });
}

Deno.test("attempt() is refused while too many other nodes fail, and waits on", async () => {
  const { clock, nodes: [first, ...others], store } = await stuck(3, 0);
  const claim = claimOf();
  assert(!(await store.attempt(claim, waiting)).granted);
  await clock.advance(SETTLED);
  for (const node of others) node.condition = "failing";
  assert(!(await store.attempt(claim, waiting)).granted);
  assertEquals((await at(first!)).pending, [claim.owner]);
  for (const node of others) node.condition = "healthy";
  assert((await store.attempt(claim, waiting)).granted);
});

Deno.test("attempt() leaves the queue by its old id: late releases free nothing else", async () => {
  const { clock, nodes, store, rival } = await stuck(3, 0);
  const [first] = nodes;
  const claim = claimOf();
  assert(!(await store.attempt(claim, waiting)).granted);
  await clock.advance(SETTLED);
  const left: Claim[] = [];
  const release = first!.release.bind(first);
  first!.release = (claim) => {
    left.push(claim);
    return Promise.resolve(true);
  };
  assert((await store.attempt(claim, waiting)).granted);
  await settled();
  assertEquals(left.length, 1);
  first!.release = release;
  // The lock that was in the way ends, and the next renewal restores that of the holder.
  await first!.release(rival);
  assertEquals(await store.renew(claim), "renewed");
  await settled();
  const restored = (await at(first!)).held;
  assertEquals(restored.map((owner) => owner.slice(0, 36)), [claim.owner]);
  for (let times = 0; times < 2; times++) await first!.release(left[0]!);
  assertEquals((await at(first!)).held, restored);
  assert(await store.release(claim));
  await settled();
  assertEquals(nodes.flatMap(({ names }) => names), []);
});

Deno.test("acquire() is granted although one server has the lock for a client that is gone", async () => {
  await using masters = await Masters.start(3);
  const clients = await masters.connect();
  const store = redlock(clients, { nodeTimeout: HANG_MS });
  for (const place of coordinators("a", 3)) {
    const admin = clients[place]!;
    await admin.set("lock:a", "gone");
    for (const take of [tryAcquire, acquire]) {
      const lock = await take(store, "a");
      assert(lock !== null);
      const next = acquire(store, "a", { wait: HANG_MS });
      await lock.release();
      const after = await next;
      assert(after.fence > lock.fence);
      await after.release();
    }
    assertEquals(await admin.get("lock:a"), "gone");
    await admin.del("lock:a");
    assertEquals(await masters.leftovers(), []);
  }
});
