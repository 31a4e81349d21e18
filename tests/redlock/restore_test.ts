import { assert, assertEquals } from "@std/assert";
import type { Claim } from "../../src/contract/store.ts";
import { NodeVote } from "../../src/redlock/nodes/node_vote.ts";
import { Nodes } from "../../src/redlock/nodes/nodes.ts";
import { settled } from "../support/virtual_clock.ts";
import type { FaultyNode } from "./faulty_node.ts";
import { claimOf, type Quorum, quorum } from "./quorum.ts";

const attempt = { enqueue: false };

/** A lock that is held on all nodes of a quorum, and its fence. */
async function held({ store }: Quorum, claim: Claim = claimOf()): Promise<{ claim: Claim; fence: bigint }> {
  const granted = await store.attempt(claim, attempt);
  assert(granted.granted);
  await settled();
  return { claim, fence: granted.fence };
}

/** Renews, and lets the nodes that have lost the lock get it back. */
async function renew({ store }: Quorum, claim: Claim): Promise<void> {
  assertEquals(await store.renew(claim), "renewed");
  await settled();
}

/** Whose handles hold a lock on each node. */
async function owners(nodes: readonly FaultyNode[]): Promise<(string | undefined)[]> {
  const snapshots = await Promise.all(nodes.map((node) => node.query()));
  return snapshots.map(({ held }) => held[0]?.owner.slice(0, 36));
}

/** Somebody asks a node for the lock whose guess raises the counter, and gives it up. */
async function contend(node: FaultyNode, guess: bigint): Promise<void> {
  const rival = claimOf();
  assert((await node.vote(rival, { ...attempt, guess, maxClockSkew: 10_000 })).granted);
  await node.release(rival);
}

async function counter(node: FaultyNode): Promise<bigint> {
  return (await node.inspect(claimOf())).counter;
}

Deno.test("renew() restores the lock on an empty node, and raises its counter to the fence", async () => {
  const quorum3 = quorum(3);
  const { nodes } = quorum3;
  const { claim, fence } = await held(quorum3);
  for (const node of nodes) {
    node.wipe();
    await renew(quorum3, claim);
    assertEquals(await owners(nodes), [claim.owner, claim.owner, claim.owner]);
    assertEquals(await counter(node), fence);
  }
});

Deno.test("renew() restores the lock on node after node although others asked there", async () => {
  const quorum3 = quorum(3);
  const { nodes } = quorum3;
  const { claim, fence } = await held(quorum3);
  let guess = fence;
  for (let i = 0; i < 6; i++) {
    const node = nodes[i % 3]!;
    if (i % 2 === 0) node.wipe();
    else await node.release({ ...claim, owner: (await node.query()).held[0]!.owner });
    await contend(node, ++guess);
    await renew(quorum3, claim);
    assertEquals(await owners(nodes), [claim.owner, claim.owner, claim.owner], `round ${i}`);
    assertEquals(await counter(node), guess, "the counter does not fall");
  }
  assertEquals(await quorum3.store.release(claim), true);
  assertEquals(nodes.flatMap((node) => node.names), []);
});

Deno.test("renew() restores the lock on a node that granted it with a higher counter", async () => {
  const quorum3 = quorum(3);
  const { nodes, clock } = quorum3;
  await contend(nodes[1]!, BigInt(clock.now().wall * 1_000) + 5n);
  const { claim } = await held(quorum3);
  for (const node of [nodes[2]!, nodes[0]!]) {
    node.wipe();
    await contend(node, 7n);
    await renew(quorum3, claim);
    assertEquals(await owners(nodes), [claim.owner, claim.owner, claim.owner]);
  }
});

Deno.test("renew() restores the lock on a node that another holds only once that is free", async () => {
  const quorum3 = quorum(3);
  const { nodes } = quorum3;
  const { claim, fence } = await held(quorum3);
  nodes[2]!.wipe();
  const rival = claimOf();
  assert((await nodes[2]!.vote(rival, { ...attempt, guess: fence + 1n, maxClockSkew: 10_000 })).granted);
  await renew(quorum3, claim);
  assertEquals(await owners(nodes), [claim.owner, claim.owner, rival.owner]);
  assert(!nodes[2]!.calls.includes("retake"), "it could come when the rival has won and is gone");
  await nodes[2]!.release(rival);
  await renew(quorum3, claim);
  assertEquals(await owners(nodes), [claim.owner, claim.owner, claim.owner]);
});

Deno.test("renew() does not restore the lock after another held it and a late vote came", async () => {
  const quorum3 = quorum(3);
  const { nodes: [, second, third] } = quorum3;
  let again: (() => Promise<unknown>) | undefined;
  const vote = second!.vote.bind(second);
  second!.vote = (...args) => {
    again ??= () => vote(...args);
    return vote(...args);
  };
  const { claim, fence } = await held(quorum3);
  for (const node of [second!, third!]) await node.loseLock();
  const rival = claimOf();
  for (const node of [second!, third!]) {
    const { granted } = await node.vote(rival, { ...attempt, guess: fence + 1n, maxClockSkew: 10_000 });
    assert(granted, "the rival holds the lock");
  }
  for (const node of [second!, third!]) await node.release(rival);
  await again!();
  await renew(quorum3, claim);
  assertEquals(await owners([third!]), [undefined]);
});

Deno.test("renew() does not count a node whose vote came after an earlier renewal", async () => {
  const quorum3 = quorum(3);
  const { nodes: [, second, third] } = quorum3;
  const late = Promise.withResolvers<void>();
  const vote = third!.vote.bind(third);
  third!.vote = async (...args) => {
    third!.vote = vote;
    await late.promise;
    return await vote(...args);
  };
  const { claim, fence } = await held(quorum3);
  third!.condition = "failing";
  await renew(quorum3, claim);
  third!.condition = "healthy";
  await second!.loseLock();
  const rival = claimOf();
  for (const node of [second!, third!]) {
    assert((await node.vote(rival, { ...attempt, guess: fence + 1n, maxClockSkew: 10_000 })).granted);
  }
  for (const node of [second!, third!]) await node.release(rival);
  late.resolve();
  await settled();
  await renew(quorum3, claim);
  assertEquals(await owners([second!, third!]), [undefined, claim.owner]);
});

Deno.test("renew() whose retake is late takes nothing that another asked for meanwhile", async () => {
  const quorum3 = quorum(3);
  const { nodes: [, , third] } = quorum3;
  const { claim, fence } = await held(quorum3);
  third!.wipe();
  const late = Promise.withResolvers<void>();
  const retake = third!.retake.bind(third);
  const retaken: boolean[] = [];
  third!.retake = async (...args) => {
    await late.promise;
    retaken.push(await retake(...args));
    return retaken.at(-1)!;
  };
  await renew(quorum3, claim);
  await renew(quorum3, claim);
  await contend(third!, fence + 1n);
  late.resolve();
  await settled();
  assertEquals(retaken, [false], "asked once at a time");
  await renew(quorum3, claim);
  assertEquals(retaken, [false, true]);
});

Deno.test("release() frees a node where a retake comes late, under an id that was kept", async () => {
  const quorum3 = quorum(3);
  const { nodes, store } = quorum3;
  const [first] = nodes;
  const { claim } = await held(quorum3);
  await first!.loseLock();
  const late = Promise.withResolvers<void>();
  const retake = first!.retake.bind(first);
  let retaken = false;
  first!.retake = async (...args) => {
    await late.promise;
    return retaken = await retake(...args);
  };
  await renew(quorum3, claim);
  const rival = claimOf();
  assert((await first!.vote(rival, { ...attempt, guess: 0n, maxClockSkew: 0 })).granted);
  assert(!(await store.attempt(claim, { enqueue: true })).granted);
  assertEquals(await store.release(claim), true, "it leaves the queue");
  await first!.release(rival);
  late.resolve();
  await settled();
  assert(retaken);
  assertEquals(nodes.flatMap((node) => node.names), []);
});

for (const inspected of ["the empty node", "another node"]) {
  Deno.test(`release() while ${inspected} is inspected ends the restoration there`, async () => {
    const quorum3 = quorum(3);
    const { nodes: [first, second, third], store } = quorum3;
    const { claim } = await held(quorum3);
    third!.wipe();
    const late = Promise.withResolvers<void>();
    const node = inspected === "the empty node" ? third! : first!;
    const inspect = node.inspect.bind(node);
    node.inspect = async (...args) => {
      const inspection = await inspect(...args);
      await late.promise;
      return inspection;
    };
    await renew(quorum3, claim);
    assertEquals(await store.release(claim), true);
    const before = second!.calls.length;
    late.resolve();
    await settled();
    assertEquals(second!.calls.slice(before), []);
    assert(!third!.calls.includes("retake"));
  });
}

Deno.test("renew() restores the lock of a handle that the coordinator knows by another id", async () => {
  const quorum3 = quorum(3);
  const { nodes, store } = quorum3;
  const [first, , third] = nodes;
  const holder = claimOf();
  assert((await first!.attempt(holder, attempt)).granted);
  const waiter = claimOf();
  assert(!(await store.attempt(waiter, { enqueue: true })).granted);
  await first!.release(holder);
  const { claim, fence } = await held(quorum3, waiter);
  third!.wipe();
  await contend(third!, fence + 1n);
  await renew(quorum3, claim);
  assertEquals(await owners(nodes), [claim.owner, claim.owner, claim.owner]);
});

Deno.test("renew() inspects no node that has kept the lock", async () => {
  const quorum3 = quorum(3);
  const { claim } = await held(quorum3);
  await renew(quorum3, claim);
  assertEquals(quorum3.nodes.map(({ calls }) => calls), Array(3).fill(["vote", "renew"]));
});

Deno.test("renew() restores a shared lock beside others who share it", async () => {
  const quorum3 = quorum(3);
  const { nodes, open } = quorum3;
  const shared = (): Claim => ({ ...claimOf(), mode: "shared" });
  const first = shared();
  assert((await open().attempt(first, attempt)).granted);
  await settled();
  const { claim } = await held(quorum3, shared());
  await nodes[2]!.loseLock();
  assertEquals((await nodes[2]!.query()).held.length, 1);
  await renew(quorum3, claim);
  for (const node of nodes) assertEquals((await node.query()).held.length, 2);
});

Deno.test("NodeVote.retake() notes the counter only of a lock that was restored", async () => {
  const { clock, nodes: [node] } = quorum(1);
  const vote = new NodeVote(new Nodes([node!], undefined, clock), 0, "id");
  await contend(node!, 5n);
  await vote.retake(claimOf(), 7n, 4n);
  assertEquals(vote.counter, undefined);
  await vote.retake(claimOf(), 7n, 5n);
  assertEquals(vote.counter, 7n);
});

Deno.test("retake() that comes again does not make the lease shorter", async () => {
  const { clock, nodes: [node] } = quorum(1);
  const claim = claimOf();
  assert((await node!.vote(claim, { ...attempt, guess: 5n, maxClockSkew: 0 })).granted);
  assertEquals(await node!.retake({ ...claim, lease: 100 }, 5n, 5n), true);
  assertEquals(await node!.retake({ ...claim, lease: 100 }, 4n, 4n), false, "it is another time");
  await clock.advance(200);
  assertEquals((await node!.inspect(claim)).state, "held");
});

Deno.test("renew() sends its number to every node", async () => {
  const quorum3 = quorum(3);
  const { claim } = await held(quorum3);
  const received: unknown[] = [];
  for (const node of quorum3.nodes) {
    const renew = node.renew.bind(node);
    node.renew = (claim) => {
      received.push([claim.lease, claim.renewal]);
      return renew(claim);
    };
  }
  await renew(quorum3, { ...claim, lease: 100, renewal: 7 });
  assertEquals(received, [[100, 7], [100, 7], [100, 7]]);
});
