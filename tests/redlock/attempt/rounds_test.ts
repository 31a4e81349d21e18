import { assert, assertEquals } from "@std/assert";
import { QuorumError } from "@holdfast/lock";
import type { Claim } from "../../../src/contract/store.ts";
import type { Vote } from "../../../src/contract/quorum_node.ts";
import { Nodes } from "../../../src/redlock/nodes/nodes.ts";
import { Round } from "../../../src/redlock/attempt/round.ts";
import { settled } from "../../support/virtual_clock.ts";
import type { FaultyNode } from "../faulty_node.ts";
import { after, claimOf, LEASE, NODE_TIMEOUT, quorum } from "../quorum.ts";

const attempt = { enqueue: false };

/** Whose handles wait at a node. */
async function waiting(node: FaultyNode): Promise<string[]> {
  return (await node.query()).pending.map(({ owner }) => owner.slice(0, 36));
}

/** Makes nodes answer renewals when the returned promise is resolved. */
function lateRenewals(nodes: readonly FaultyNode[]): PromiseWithResolvers<void> {
  const late = Promise.withResolvers<void>();
  for (const node of nodes) {
    const renew = node.renew.bind(node);
    node.renew = async (claim) => {
      const renewal = await renew(claim);
      await late.promise;
      return renewal;
    };
  }
  return late;
}

Deno.test("attempt() uses a fresh id in each round, which begins with the owner", async () => {
  const { nodes, open, store } = quorum(3);
  const holder = claimOf();
  assert((await open().attempt(holder, attempt)).granted);
  const asked: Claim[] = [];
  for (const node of nodes) {
    const vote = node.vote.bind(node);
    node.vote = (claim, options) => {
      asked.push(claim);
      return vote(claim, options);
    };
  }
  const claim = claimOf();
  for (let tries = 0; tries < 3; tries++) await store.attempt(claim, attempt);
  const ids = asked.map(({ owner }) => owner);
  for (const id of ids) {
    assert(id.startsWith(`${claim.owner}:`), id);
    assert(!id.includes("/"), "a slash would make it the handle of a named owner");
  }
  assertEquals(new Set(ids).size, 3);
  assertEquals((await nodes[0]!.query()).held[0]!.owner.slice(0, 36), holder.owner);
});

Deno.test("attempt() does not count the vote of a place in the queue that it has left", async () => {
  const { clock, nodes, open, store } = quorum(3);
  const [first, second, third] = nodes as [FaultyNode, FaultyNode, FaultyNode];
  const [holder, rival] = [claimOf(), claimOf()];
  assert((await open().attempt(holder, attempt)).granted);
  await settled();
  const waiter = claimOf();
  assert(!(await store.attempt(waiter, { enqueue: true })).granted);
  assertEquals(await waiting(first), [waiter.owner]);
  // The lock becomes free, but for one node that somebody else is asking.
  for (const node of [first, second, third]) {
    await node.release({ ...holder, owner: (await node.query()).held[0]!.owner });
  }
  assert((await third.attempt(rival, attempt)).granted);
  // Later than the last fence: one trip is enough.
  await clock.advance(10);
  // The first node hangs until the waiter has turned to the next one, and left its queue.
  first.condition = "hanging";
  const again = store.attempt(waiter, { enqueue: true });
  await clock.advance(NODE_TIMEOUT + 1);
  first.condition = "healthy";
  const { result } = await after(clock, again);
  await settled();
  await third.release(rival);
  assert("granted" in result);
  const other = await after(clock, open().attempt(claimOf(), attempt));
  assert("granted" in other.result);
  assert(!(result.granted && other.result.granted), "two hold it");
});

for (const rounds of [1, 2]) {
  Deno.test(`Round.vote() that answers late leaves a place kept by ${rounds} later rounds`, async () => {
    const { clock, nodes: [node] } = quorum(1);
    const holder = claimOf();
    assert((await node!.attempt(holder, attempt)).granted);
    const claim = claimOf();
    let round = new Round(new Nodes([node!], undefined, clock), claim.owner);
    const options = { enqueue: true, guess: 1n, maxClockSkew: 0 };
    // The answer to the first of two votes comes last.
    const late = Promise.withResolvers<void>();
    const vote = node!.vote.bind(node);
    node!.vote = async (...args) => {
      node!.vote = vote;
      const answer = await vote(...args);
      await late.promise;
      return answer;
    };
    const first: Promise<Vote> = round.vote(claim, 0, options);
    assert(!(await round.vote(claim, 0, options)).granted);
    for (let i = 0; i < rounds; i++) {
      const before = round;
      round = before.next(claim, 0);
      before.release(claim, 0);
    }
    late.resolve();
    assert(!(await first).granted);
    await settled();
    assertEquals(await waiting(node!), [claim.owner]);
    round.release(claim, 0);
    await settled();
    assertEquals(await waiting(node!), []);
  });
}

const lateAnswers = [["queued", "before"], ["queued", "after"], ["granted", "after"]] as const;
for (const [vote, when] of lateAnswers) {
  Deno.test(`attempt() frees what a slow coordinator ${vote} ${when} forgetting a lock`, async () => {
    const { clock, nodes, store } = quorum(3);
    const slow = nodes[0]!;
    const [claim, rival] = [claimOf("a", 1_000), claimOf()];
    if (vote === "queued") assert((await slow.attempt(rival, attempt)).granted);
    slow.condition = "hanging";
    assert((await store.attempt(claim, { enqueue: true })).granted);
    if (when === "before") {
      slow.condition = "healthy";
      await settled();
      assertEquals(await waiting(slow), [claim.owner]);
    }
    await clock.advance(2 * claim.lease);
    // Of another handle: it forgets those that were not used for long.
    const other = claimOf("b");
    assert((await store.attempt(other, attempt)).granted);
    assertEquals(await store.release(claim), false, "it is forgotten");
    assertEquals((await after(clock, store.release(other))).result, true);
    slow.condition = "healthy";
    await settled();
    assertEquals(await waiting(slow), []);
    await slow.release(rival);
    assertEquals(nodes.flatMap((node) => node.names), []);
  });
}

for (const vote of ["granted", "queued"]) {
  for (const when of ["before", "after"]) {
    Deno.test(`attempt() frees a queue it has left: ${vote} late, ${when} its release`, async () => {
      const { clock, nodes, store } = quorum(3);
      const [first] = nodes;
      const [holder, waiter] = [claimOf(), claimOf()];
      for (const node of nodes) assert((await node.attempt(holder, attempt)).granted);
      assert(!(await store.attempt(waiter, { enqueue: true })).granted);
      for (const node of vote === "queued" ? nodes.slice(1) : nodes) await node.release(holder);
      const late = Promise.withResolvers<void>();
      const ids: string[] = [];
      const send = first!.vote.bind(first);
      first!.vote = async (claim, options) => {
        ids.push(claim.owner);
        if (ids.length === 1) await late.promise;
        return await send(claim, options);
      };
      // It gives up its place on the first node, which has not answered in time.
      const { result } = await after(clock, store.attempt(waiter, { enqueue: true }));
      assert("granted" in result && result.granted);
      await settled();
      assertEquals(new Set(ids).size, 2, "it is asked anew under another id");
      if (when === "after") assertEquals((await after(clock, store.release(waiter))).result, true);
      late.resolve();
      await settled();
      if (when === "before") assertEquals((await after(clock, store.release(waiter))).result, true);
      await first!.release(holder);
      await settled();
      assertEquals(nodes.flatMap((node) => node.names), []);
    });
  }
}

Deno.test("attempt() whose handle is released while it changes queues leaves nothing", async () => {
  const { clock, nodes, open, store } = quorum(3);
  const [holder, waiter] = [claimOf(), claimOf()];
  const rival = open();
  assert((await rival.attempt(holder, attempt)).granted);
  assert(!(await store.attempt(waiter, { enqueue: true })).granted);
  nodes[0]!.condition = "hanging";
  const again = store.attempt(waiter, { enqueue: true });
  const released = store.release(waiter).catch(() => {}); // It may fail while the coordinator hangs.
  assertEquals((await after(clock, rival.release(holder))).result, true);
  await after(clock, again);
  nodes[0]!.condition = "healthy";
  await after(clock, released);
  await settled();
  assertEquals(nodes.flatMap((node) => node.names), []);
});

Deno.test("attempt() that comes again after it was won too late is not forgotten meanwhile", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf("a", 10);
  assert((await store.attempt(claim, attempt)).granted);
  for (const node of nodes) node.condition = "hanging";
  const again = store.attempt(claim, attempt);
  await clock.advance(3 * claim.lease);
  const other = store.attempt(claimOf("b"), attempt);
  assertEquals(nodes.flatMap(({ calls }) => calls.filter((call) => call === "release")), []);
  for (const node of nodes) node.condition = "healthy";
  assert((await again).granted && (await other).granted);
  assertEquals(await store.release(claim), true);
});

Deno.test("attempt() is not forgotten when another one of its handle has been answered", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf("a", 10);
  assert((await store.attempt(claim, attempt)).granted);
  const late = Promise.withResolvers<void>();
  const vote = nodes[0]!.vote.bind(nodes[0]);
  nodes[0]!.vote = async (...args) => {
    await late.promise;
    return await vote(...args);
  };
  const second = store.attempt(claim, attempt);
  await clock.advance(3 * claim.lease);
  assert((await store.attempt(claimOf("b"), attempt)).granted);
  assertEquals(nodes.flatMap(({ calls }) => calls.filter((call) => call === "release")), []);
  late.resolve();
  assert((await second).granted);
  assertEquals(await store.release(claim), true);
});

Deno.test("attempt() forgets a lock that has run out, and none that was renewed", async () => {
  const { clock, nodes, store } = quorum(3);
  const [held, left] = [claimOf("a", 1_000), claimOf("b", 1_000)];
  for (const claim of [held, left]) assert((await store.attempt(claim, attempt)).granted);
  for (let i = 0; i < 4; i++) {
    await clock.advance(500);
    assertEquals(await store.renew(held), "renewed");
  }
  assert((await store.attempt(claimOf("c"), attempt)).granted);
  const renewals = () => nodes[0]!.calls.filter((call) => call === "renew").length;
  const before = renewals();
  assertEquals([await store.renew(held), await store.renew(left)], ["renewed", "lost"]);
  assertEquals(renewals() - before, 1, "it is not asked about what was forgotten");
});

Deno.test("attempt() does not forget a lock that was renewed for longer", async () => {
  const { clock, store } = quorum(3);
  const claim = claimOf("a", 1_000);
  assert((await store.attempt(claim, attempt)).granted);
  assertEquals(await store.renew({ ...claim, lease: 10_000 }), "renewed");
  await clock.advance(5_000);
  assert((await store.attempt(claimOf("b"), attempt)).granted);
  assertEquals(await store.renew(claim), "renewed");
});

Deno.test("attempt() does not forget a waiter whose lease is shorter than its pause", async () => {
  const { clock, nodes: [first], open, store } = quorum(3);
  assert((await open().attempt(claimOf(), attempt)).granted);
  const waiter = claimOf("a", 100);
  assert(!(await store.attempt(waiter, { enqueue: true })).granted);
  await clock.advance(900);
  assert((await store.attempt(claimOf("b"), attempt)).granted);
  assertEquals(await waiting(first!), [waiter.owner]);
});

Deno.test("attempt() forgets a waiter whose release has failed, after two leases", async () => {
  const { clock, nodes: [first], open, store } = quorum(3);
  assert((await open().attempt(claimOf("a", 10 * LEASE), attempt)).granted);
  const waiter = claimOf();
  assert(!(await store.attempt(waiter, { enqueue: true })).granted);
  first!.condition = "failing";
  assert((await after(clock, store.release(waiter))).result instanceof Error);
  first!.condition = "healthy";
  await clock.advance(2 * LEASE);
  assert((await store.attempt(claimOf("b"), attempt)).granted);
  assertEquals(await store.release(waiter), false, "it is forgotten");
});

Deno.test("renew() answered after its lock was forgotten is lost, and leaves nothing", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf("a", 1_000);
  assert((await store.attempt(claim, attempt)).granted);
  const late = lateRenewals(nodes);
  // For so long that the answer, if it counted, would be in time.
  const renewal = store.renew({ ...claim, lease: 100 * LEASE });
  await clock.advance(2 * claim.lease);
  assert((await store.attempt(claimOf("b"), attempt)).granted);
  late.resolve();
  assertEquals(await renewal, "lost");
  await settled();
  assertEquals(nodes.flatMap((node) => node.names), ["b", "b", "b"]);
});

Deno.test("renew() of a lock that is being released is lost, and asks no node", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  for (const node of nodes) node.condition = "hanging";
  const released = after(clock, store.release(claim));
  assertEquals(await store.renew(claim), "lost");
  assertEquals(nodes.flatMap(({ calls }) => calls.filter((call) => call === "renew")), []);
  assert((await released).result instanceof QuorumError);
  assertEquals(await store.renew(claim), "lost", "also when that has failed");
  for (const node of nodes) node.condition = "healthy";
  await settled();
});

Deno.test("renew() that is answered after the release brings nothing back", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  const late = lateRenewals(nodes);
  const renewal = store.renew(claim);
  assertEquals(await store.release(claim), true);
  late.resolve();
  assertEquals(await renewal, "renewed");
  await settled();
  assertEquals(await store.release(claim), false, "it is forgotten");
  assertEquals(nodes.flatMap((node) => node.names), []);
  assertEquals(clock.pending, 0);
});

Deno.test("attempt() after an unconfirmed fence asks for a higher one", async () => {
  const { clock, nodes, store } = quorum(3);
  // Counters that are above what any clock gives: the first trip brings no fence.
  const counter = BigInt(clock.now().wall + 2 * LEASE) * 1_000n;
  const rival = claimOf();
  const guesses: bigint[] = [];
  const confirmed: bigint[] = [];
  for (const node of nodes) {
    const skewed = { ...attempt, guess: counter, maxClockSkew: 10 * LEASE };
    assert((await node.vote(rival, skewed)).granted);
    await node.release(rival);
    const [vote, confirm] = [node.vote.bind(node), node.confirm.bind(node)];
    node.vote = (claim, options) => {
      guesses.push(options.guess);
      return vote(claim, options);
    };
    // It is executed on some nodes, and no node answers that.
    node.confirm = async (claim, fence) => {
      confirmed.push(fence);
      await confirm(claim, fence);
      return false;
    };
  }
  assert(!(await store.attempt(claimOf(), attempt)).granted);
  await settled();
  const [candidate] = confirmed;
  assertEquals(candidate, counter + 1n);
  // A refusal says nothing of fences.
  assert((await nodes[0]!.attempt(rival, attempt)).granted);
  assert(!(await store.attempt(claimOf(), attempt)).granted);
  await nodes[0]!.release(rival);
  guesses.length = 0;
  await after(clock, store.attempt(claimOf(), attempt));
  assert(guesses.length > 0 && guesses.every((guess) => guess > candidate!), `${guesses} after ${candidate}`);
});

Deno.test("attempt() that comes late, for a shorter lease, does not end the lock early", async () => {
  const { clock, store } = quorum(3);
  const claim = claimOf("a", LEASE);
  const first = { ...claim, lease: LEASE / 3 };
  assert((await store.attempt(first, attempt)).granted);
  assertEquals(await store.renew({ ...claim, renewal: 1 }), "renewed");
  assert((await store.attempt(first, attempt)).granted);
  await clock.advance(LEASE * 0.8);
  // The first attempt of a rival looks for locks that nobody releases.
  for (let tries = 0; tries < 2; tries++) {
    assert(!(await store.attempt(claimOf(), attempt)).granted);
    await settled();
  }
  assert(await store.release(claim));
});
