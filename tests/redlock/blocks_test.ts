import { assert, assertEquals } from "@std/assert";
import type { Claim } from "../../src/contract/store.ts";
import type { RedlockStore } from "../../src/redlock/store.ts";
import { settled } from "../support/virtual_clock.ts";
import type { FaultyNode } from "./faulty_node.ts";
import { claimOf, type Quorum, quorum } from "./quorum.ts";

const attempt = { enqueue: false };

/** How many fences are asked for. */
const FENCES = 1_000;

function blockClaim(fences = FENCES): Claim {
  return { ...claimOf(), fences };
}

/** The first fence and the last one. */
interface Range {
  readonly start: bigint;
  readonly end: bigint;
}

/** Acquires a lock; returns its block. */
async function acquired(store: RedlockStore, claim: Claim = blockClaim()): Promise<Range> {
  const granted = await store.attempt(claim, attempt);
  assert(granted.granted, "granted");
  const { fence, fences = 1 } = granted;
  await settled();
  return { start: fence, end: fence + BigInt(fences) - 1n };
}

/** Acquires a lock and releases it; returns its block. */
async function used(store: RedlockStore, claim: Claim = blockClaim()): Promise<Range> {
  const block = await acquired(store, claim);
  assertEquals(await store.release(claim), true);
  await settled();
  return block;
}

function microseconds({ clock }: Quorum): bigint {
  return BigInt(Math.floor(clock.now().wall * 1_000));
}

async function counters(nodes: readonly FaultyNode[]): Promise<bigint[]> {
  const inspections = await Promise.all(nodes.map((node) => node.inspect(claimOf())));
  return inspections.map(({ counter }) => counter);
}

/** The starts of the blocks for which nodes are asked from now on. */
function guessesOf(nodes: readonly FaultyNode[]): bigint[] {
  const guesses: bigint[] = [];
  for (const node of nodes) {
    const vote = node.vote.bind(node);
    node.vote = (claim, options) => {
      guesses.push(options.guess);
      return vote(claim, options);
    };
  }
  return guesses;
}

/** A rival raises the counter of a node, and gives the lock up. */
async function contend(node: FaultyNode, guess: bigint): Promise<void> {
  const rival = claimOf();
  assert((await node.vote(rival, { ...attempt, guess, maxClockSkew: 60_000 })).granted);
  await node.release(rival);
}

Deno.test("attempt() gets the fences that it asks for, from its clock on", async () => {
  const quorum3 = quorum(3);
  const now = microseconds(quorum3);
  const claim = blockClaim();
  const granted = await quorum3.store.attempt(claim, attempt);
  assertEquals(granted, { granted: true, fence: now, fences: FENCES });
  await settled();
  assertEquals(await counters(quorum3.nodes), Array(3).fill(now + 999n));
});

Deno.test("attempt() gets as many fences as lie within 10 ms of its clock", async () => {
  const quorum3 = quorum(3);
  const now = microseconds(quorum3);
  assertEquals(await acquired(quorum3.store, blockClaim(1e6)), { start: now, end: now + 10_000n });
});

Deno.test("attempt() gets one fence where it asks for one, for none, or for a shared lock", async () => {
  const { store } = quorum(3);
  for (const claim of [claimOf(), blockClaim(1), { ...blockClaim(), mode: "shared" } as const]) {
    const granted = await store.attempt(claim, attempt);
    assert(granted.granted && granted.fences === undefined, claim.mode);
    await store.release(claim);
  }
});

Deno.test("attempt() gets a block above the last one, of the same store and of another", async () => {
  const { clock, store, open } = quorum(3);
  let last = 0n;
  for (const [i, asking] of [store, store, open(), open(), store].entries()) {
    // Also within the time of the block before, and with a clock that was set back.
    await clock.advance(i % 2);
    if (i === 3) clock.setWall(-5_000);
    const { start, end } = await used(asking);
    assert(start > last && end >= start, `${i}: ${start} follows ${last}`);
    last = end;
  }
});

Deno.test("attempt() gets a block above one whose holder died in the middle of it", async () => {
  const quorum3 = quorum(3);
  const { clock, open } = quorum3;
  const dead = blockClaim(10_000);
  const { end } = await acquired(open(), dead);
  // A clock behind the one that has died, so that its guess lies within that block.
  await clock.advance(dead.lease);
  clock.setWall(-dead.lease + 5);
  assert(microseconds(quorum3) < end);
  assert((await acquired(open())).start > end);
});

Deno.test("attempt() that must have its fence confirmed gets a block as well", async () => {
  const quorum3 = quorum(3);
  const { nodes, open } = quorum3;
  const now = microseconds(quorum3);
  for (const node of nodes) await contend(node, now + 4_000n);
  assertEquals(await acquired(open()), { start: now + 4_001n, end: now + 5_000n });
  const raised = (await counters(nodes)).filter((counter) => counter === now + 5_000n);
  assert(raised.length >= 2, "a majority");
});

Deno.test("attempt() that must have its fence confirmed ends within 10 ms of its clock", async () => {
  for (const [ahead, expected] of [[9_800n, 200n], [10_000n, 1n], [60_000n, 1n]] as const) {
    const quorum3 = quorum(3);
    const now = microseconds(quorum3);
    for (const node of quorum3.nodes) await contend(node, now + ahead);
    const start = now + ahead + 1n;
    assertEquals(await acquired(quorum3.store), { start, end: start + expected - 1n });
  }
});

Deno.test("attempt() with a clock far ahead of the nodes moves their counters by one fence", async () => {
  const { nodes, store } = quorum(3);
  for (const node of nodes) {
    const vote = node.vote.bind(node);
    node.vote = (claim, options) => vote(claim, { ...options, maxClockSkew: -1e15 });
  }
  assertEquals(await used(store), { start: 1n, end: 1n });
  assertEquals(await used(store), { start: 2n, end: 2n });
});

Deno.test("attempt() confirms a block above that it has raised a counter to itself", async () => {
  const quorum3 = quorum(3);
  const now = microseconds(quorum3);
  for (const node of quorum3.nodes.slice(1)) await contend(node, now + 10n);
  const { start } = await acquired(quorum3.store);
  assertEquals(start, now + 1_000n);
});

Deno.test("attempt() asks for a block above that which it has got before", async () => {
  const { nodes, store } = quorum(3);
  const { end } = await used(store);
  const guesses = guessesOf(nodes);
  await used(store);
  assertEquals(guesses, Array(3).fill(end + 1n));
});

Deno.test("attempt() asks for a block above that which was not confirmed before", async () => {
  const quorum3 = quorum(3);
  const { nodes, store } = quorum3;
  const now = microseconds(quorum3);
  const ends: (bigint | undefined)[] = [];
  for (const node of nodes) {
    await contend(node, now + 100n);
    node.confirm = (_claim, _fence, end) => {
      ends.push(end);
      return Promise.resolve(false);
    };
  }
  assert(!(await store.attempt(blockClaim(), attempt)).granted);
  await settled();
  assertEquals(new Set(ends), new Set([now + 1_100n]));
  const guesses = guessesOf(nodes);
  await used(store);
  assertEquals(new Set(guesses), new Set([now + 1_101n]));
});

Deno.test("attempt() of a handle that was granted already gets a block above its former one", async () => {
  const { store } = quorum(3);
  const claim = blockClaim();
  const { end } = await acquired(store, claim);
  assert((await acquired(store, claim)).start > end);
  assertEquals(await store.release(claim), true);
});

Deno.test("renew() restores a lock and the end of its block on node after node", async () => {
  const { nodes, store, open } = quorum(3);
  const claim = blockClaim();
  const { end } = await acquired(store, claim);
  for (const node of nodes) {
    node.wipe();
    assertEquals(await store.renew(claim), "renewed");
    await settled();
    assertEquals(await counters([node]), [end]);
  }
  assertEquals(await store.release(claim), true);
  await settled();
  assert((await acquired(open())).start > end, "nothing of the block is issued again");
});

Deno.test("renew() restores a lock at once where the counter is still the end of its block", async () => {
  const { nodes: [first, second, third], store } = quorum(3);
  const claim = blockClaim();
  const { end } = await acquired(store, claim);
  await third!.loseLock();
  // So it is not known whether a majority has kept the lock.
  second!.inspect = () => Promise.reject(new Error("connection lost"));
  assertEquals(await store.renew(claim), "renewed");
  await settled();
  assertEquals(await counters([first!, third!]), [end, end]);
  const snapshot = await third!.query();
  assertEquals(snapshot.held.map(({ owner }) => owner.slice(0, 36)), [claim.owner]);
});
