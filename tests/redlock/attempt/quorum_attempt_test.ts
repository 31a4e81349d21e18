import { assert, assertEquals } from "@std/assert";
import { QuorumError } from "@holdfast/lock";
import type { Claim } from "../../../src/contract/store.ts";
import { coordinators, firstCoordinator } from "../../../src/redlock/attempt/coordinators.ts";
import { settled } from "../../support/virtual_clock.ts";
import type { FaultyNode } from "../faulty_node.ts";
import { after, claimOf, NODE_TIMEOUT, quorum } from "../quorum.ts";

const attempt = { enqueue: false };

/** The ids by which a node is asked from now on. */
function ids(node: FaultyNode): string[] {
  const asked: string[] = [];
  const vote = node.vote.bind(node);
  node.vote = (claim, options) => {
    asked.push(claim.owner);
    return vote(claim, options);
  };
  return asked;
}

Deno.test("attempt() that is refused keeps its place in the queue, and nothing else", async () => {
  const { nodes: [first, ...others], store } = quorum(3);
  assert((await first!.attempt(claimOf(), attempt)).granted);
  const asked = [first!, ...others].map(ids);
  const claim = claimOf();
  for (let tries = 0; tries < 2; tries++) {
    assert(!(await store.attempt(claim, { enqueue: true })).granted);
    await settled();
    assertEquals(others.flatMap((node) => node.names), []);
    assertEquals((await first!.query()).pending.length, 1);
  }
  assertEquals(new Set(asked[0]).size, 1);
});

Deno.test("attempt() after a refusal has a fresh id on all nodes but the coordinator", async () => {
  const { nodes, store } = quorum(3);
  const [first, ...others] = nodes;
  const holder = claimOf();
  assert((await first!.attempt(holder, attempt)).granted);
  const asked = nodes.map(ids);
  const claim = claimOf();
  assert(!(await store.attempt(claim, { enqueue: true })).granted);
  await first!.release(holder);
  assert((await store.attempt(claim, { enqueue: true })).granted);
  assertEquals(asked.map((ids) => new Set(ids).size), [1, 2, 2]);
  assertEquals(await store.release(claim), true);
  await settled();
  assertEquals([first!, ...others].flatMap((node) => node.names), []);
});

Deno.test("renew() that only a minority has answered rejects", async () => {
  const { clock, nodes, store } = quorum(5);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  for (const node of nodes.slice(2)) node.condition = "failing";
  const { result } = await after(clock, store.renew(claim));
  assert(result instanceof QuorumError, `${result}`);
});

Deno.test("attempt() confirms a fence above the counters that it has raised itself", async () => {
  const { clock, nodes, store } = quorum(3);
  // Two clocks far behind that of the client: its guess is not taken there.
  for (const node of nodes.slice(1)) {
    const vote = node.vote.bind(node);
    node.vote = (claim, options) => vote(claim, { ...options, maxClockSkew: -1e15 });
  }
  const granted = await store.attempt(claimOf(), attempt);
  assert(granted.granted);
  assert(granted.fence > BigInt(clock.now().wall) * 1_000n, `${granted.fence}`);
});

Deno.test("attempt() for a shared lock waits for the answer of the coordinator", async () => {
  const { clock, nodes, store } = quorum(3);
  const shared: Claim = { ...claimOf(), mode: "shared" };
  nodes[0]!.condition = "hanging";
  const { result, ms } = await after(clock, store.attempt(shared, attempt));
  assert("granted" in result && result.granted);
  assertEquals(ms, NODE_TIMEOUT);
});

Deno.test("attempt() for a shared lock asks all nodes again when its fence is too low", async () => {
  const { clock, nodes, store } = quorum(3);
  const counter = BigInt(clock.now().wall + 1) * 1_000n;
  for (const node of nodes) {
    const rival = claimOf();
    assert((await node.vote(rival, { ...attempt, guess: counter, maxClockSkew: 10_000 })).granted);
    await node.release(rival);
    const confirm = node.confirm.bind(node);
    node.confirm = async (claim, fence) => {
      node.confirm = confirm;
      await confirm(claim, fence + 1n);
      return await confirm(claim, fence);
    };
  }
  const asked = nodes.map(ids);
  const guesses: bigint[] = [];
  for (const node of nodes) {
    const vote = node.vote.bind(node);
    node.vote = (claim, options) => {
      guesses.push(options.guess);
      return vote(claim, options);
    };
  }
  const { result } = await after(clock, store.attempt({ ...claimOf(), mode: "shared" }, attempt));
  assert("granted" in result && result.granted && result.fence > counter + 2n);
  assertEquals(asked.map(({ length }) => length), [2, 2, 2]);
  assert(guesses.every((guess, i) => (i < 3) === (guess < counter)), `${guesses}`);
});

for (const tries of [1, 2]) {
  Deno.test(`attempt() asks for fences above those it asked to confirm, in try ${tries}`, async () => {
    const { clock, nodes, store } = quorum(3);
    const [first, ahead, last] = nodes;
    const counter = BigInt(clock.now().wall + 60_000) * 1_000n;
    const rival = claimOf();
    assert((await ahead!.vote(rival, { ...attempt, guess: counter, maxClockSkew: 60_000 })).granted);
    await ahead!.release(rival);
    last!.condition = "failing";
    for (const node of [first!, ahead!]) {
      const confirm = node.confirm.bind(node);
      node.confirm = (_, fence) => {
        node.confirm = confirm;
        assertEquals(fence, counter + 1n);
        // The next time nobody hears of that counter, which is too far ahead for the others to follow.
        [ahead!.condition, last!.condition] = ["failing", "healthy"];
        return Promise.resolve(false);
      };
    }
    const claim: Claim = { ...claimOf(), mode: "shared" };
    const { result } = await after(clock, store.attempt(claim, attempt));
    assert("granted" in result && result.granted && result.fence < counter, `${result}`);
    const guesses: bigint[] = [];
    const vote = last!.vote.bind(last);
    last!.vote = (claim, options) => {
      guesses.push(options.guess);
      return vote(claim, options);
    };
    if (tries > 1) {
      for (const node of [first!, last!]) {
        const confirm = node.confirm.bind(node);
        node.confirm = () => {
          node.confirm = confirm;
          return Promise.resolve(false);
        };
      }
    }
    await after(clock, store.attempt({ ...claimOf(), mode: "shared" }, attempt));
    assert(
      guesses.length === tries && guesses.every((guess) => guess > counter + 1n),
      `${guesses} after ${counter + 1n}`,
    );
  });
}

Deno.test("attempt() has no fence that only a minority has confirmed", async () => {
  const { clock, nodes, store } = quorum(3);
  const counter = BigInt(clock.now().wall + 1) * 1_000n;
  for (const [i, node] of nodes.entries()) {
    const rival = claimOf();
    assert((await node.vote(rival, { ...attempt, guess: counter, maxClockSkew: 10_000 })).granted);
    await node.release(rival);
    if (i > 0) node.confirm = () => Promise.resolve(false);
  }
  const { result } = await after(clock, store.attempt(claimOf(), attempt));
  assert("granted" in result && !result.granted);
  await settled();
  assertEquals(nodes.flatMap((node) => node.names), []);
});

Deno.test("release() frees a node that granted after it, and whose answer was lost", async () => {
  const { nodes, store } = quorum(3);
  const late = Promise.withResolvers<void>();
  const vote = nodes[2]!.vote.bind(nodes[2]);
  nodes[2]!.vote = async (...args) => {
    await late.promise;
    await vote(...args);
    throw new Error("the answer was lost");
  };
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  assertEquals(await store.release(claim), true);
  late.resolve();
  await settled();
  assertEquals(nodes.flatMap((node) => node.names), []);
});

Deno.test("attempt() leaves the queue of a node that does not coordinate any more", async () => {
  const { clock, nodes: [first, second], open, store } = quorum(3);
  assert((await open().attempt(claimOf(), attempt)).granted);
  await settled();
  const waiter = claimOf();
  assert(!(await store.attempt(waiter, { enqueue: true })).granted);
  assertEquals((await first!.query()).pending.length, 1);
  // It fails for another name, and has not answered since.
  first!.condition = "failing";
  await after(clock, store.attempt(claimOf("b"), attempt));
  first!.condition = "healthy";
  assert(!(await store.attempt(waiter, { enqueue: true })).granted);
  await settled();
  assertEquals((await first!.query()).pending, []);
  assertEquals((await second!.query()).pending.length, 1);
});

Deno.test("attempt() of a lock that is held keeps it on a node where it has waited", async () => {
  const { clock, nodes: [first], open, store } = quorum(3);
  const [holder, waiter] = [claimOf(), claimOf()];
  const rival = open();
  assert((await rival.attempt(holder, attempt)).granted);
  assert(!(await store.attempt(waiter, { enqueue: true })).granted);
  assertEquals((await after(clock, rival.release(holder))).result, true);
  assert((await store.attempt(waiter, { enqueue: true })).granted);
  // The first node fails for another name, so that it coordinates no more.
  first!.condition = "failing";
  await after(clock, store.attempt(claimOf("b"), attempt));
  first!.condition = "healthy";
  const owners = async () => (await first!.query()).held.map(({ owner }) => owner);
  const before = await owners();
  const again = await after(clock, store.attempt(waiter, { enqueue: true }));
  await settled();
  assert("granted" in again.result && again.result.granted);
  assertEquals(await owners(), before);
});

Deno.test("attempt() pauses for longer after each split, until it is refused", async () => {
  const { clock, nodes: [first, ...others], store } = quorum(3);
  const holder = claimOf();
  for (const node of others) assert((await node.attempt(holder, attempt)).granted);
  const claim = claimOf();
  const pause = async () => {
    const { result } = await after(clock, store.attempt(claim, { enqueue: true }));
    assert("retryAfter" in result);
    await settled();
    return result.retryAfter;
  };
  assertEquals([await pause(), await pause(), await pause()], [13.5, 26, 51]);
  assert((await first!.attempt(holder, attempt)).granted);
  await pause();
  await first!.release(holder);
  assertEquals([await pause(), await pause()], [13.5, 26]);
});

Deno.test("attempt() enqueues on the coordinator alone", async () => {
  const { nodes, open, store } = quorum(3);
  assert((await open().attempt(claimOf(), attempt)).granted);
  const enqueued: boolean[] = [];
  for (const [i, node] of nodes.entries()) {
    const vote = node.vote.bind(node);
    node.vote = (claim, options) => {
      enqueued[i] = options.enqueue;
      return vote(claim, options);
    };
  }
  assert(!(await store.attempt(claimOf(), { enqueue: true })).granted);
  assertEquals(enqueued, [true, false, false]);
});

Deno.test("attempt() that enqueues waits for the coordinator although others have refused", async () => {
  const { nodes: [first], open, store } = quorum(3);
  assert((await open().attempt(claimOf(), attempt)).granted);
  first!.condition = "hanging";
  const attempted = store.attempt(claimOf(), { enqueue: true });
  await settled();
  assert(!first!.calls.includes("release"), "it gives up its place");
  first!.condition = "healthy";
  assert(!(await attempted).granted);
  await settled();
  assertEquals((await first!.query()).pending.length, 1);
});

Deno.test("attempt() with the coordinator's vote asks no node again that has not answered", async () => {
  const { clock, nodes, store } = quorum(5);
  const last = nodes[4]!;
  last.condition = "hanging";
  for (const node of nodes.slice(1, 4)) assert((await node.attempt(claimOf(), attempt)).granted);
  const { result } = await after(clock, store.attempt(claimOf(), attempt));
  assert("granted" in result && !result.granted);
  const votes = ({ calls }: FaultyNode) => calls.filter((call) => call === "vote").length;
  assertEquals(nodes.map(votes), [1, 6, 6, 6, 1]);
  last.condition = "healthy";
  await settled();
});

Deno.test("attempt() after one that failed holds what it is granted", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  for (const node of nodes) node.condition = "failing";
  assert((await after(clock, store.attempt(claim, attempt))).result instanceof QuorumError);
  for (const node of nodes) node.condition = "healthy";
  const { result } = await after(clock, store.attempt(claim, attempt));
  assert("granted" in result && result.granted);
  await clock.advance(1_000);
  assertEquals(nodes.flatMap((node) => node.names), ["a", "a", "a"]);
  assertEquals(await store.renew(claim), "renewed");
});

Deno.test("attempt() notes a node that does not confirm, and no other, as failed", async () => {
  const { clock, nodes, store } = quorum(5);
  const order = coordinators("a", 5);
  const list = Array.from({ length: 5 }, (_, i) => nodes[order.indexOf(i)]!);
  const counter = BigInt(clock.now().wall + 1) * 1_000n;
  const rival = claimOf();
  for (const node of list) {
    assert((await node.vote(rival, { ...attempt, guess: counter, maxClockSkew: 10_000 })).granted);
    await node.release(rival);
  }
  // Two nodes have no call to confirm the fence, so that the calls and the nodes are numbered differently.
  list[0]!.condition = list[1]!.condition = "failing";
  list[4]!.confirm = () => Promise.reject(new Error("connection lost"));
  const { result } = await after(clock, store.attempt(claimOf(), attempt));
  assert("granted" in result && !result.granted);
  await settled();
  for (const node of list.slice(0, 2)) assertEquals(node.calls.includes("confirm"), false, "it has granted nothing");
  list[0]!.condition = list[1]!.condition = "healthy";
  const names = Array.from({ length: 100 }, (_, i) => `${i}`);
  const name = names.find((name) => firstCoordinator(name, 5) === 2)!;
  assert((await list[2]!.attempt(claimOf(name), attempt)).granted);
  assert(!(await store.attempt(claimOf(name), { enqueue: true })).granted);
  assertEquals((await list[2]!.query()).pending.length, 1);
});

Deno.test("attempt() that failed leaves nothing on the nodes that have granted it", async () => {
  const { clock, nodes, store } = quorum(3);
  for (const node of nodes.slice(1)) node.condition = "failing";
  assert((await after(clock, store.attempt(claimOf(), attempt))).result instanceof QuorumError);
  await settled();
  assertEquals(nodes[0]!.names, []);
});

Deno.test("attempt() that is refused comes again within a second", async () => {
  const { nodes: [first], store } = quorum(3);
  first!.vote = () => Promise.resolve({ granted: false, retryAfter: 5_000 });
  assertEquals(await store.attempt(claimOf(), attempt), { granted: false, retryAfter: 1_000 });
});

Deno.test("wakeup() waits at the node that has its place in the queue, under the id there", async () => {
  const { clock, nodes: [first], open, store } = quorum(3);
  assert((await open().attempt(claimOf(), attempt)).granted);
  const waiter = claimOf();
  assert(!(await store.attempt(waiter, { enqueue: true })).granted);
  // It fails for another name, so that it would not coordinate the next attempt.
  first!.condition = "failing";
  await after(clock, store.attempt(claimOf("b"), attempt));
  const woken: string[] = [];
  Object.assign(first!, { wakeup: ({ owner }: Claim) => Promise.resolve(void woken.push(owner)) });
  await store.wakeup(waiter, new AbortController().signal);
  assertEquals(woken, (await first!.query()).pending.map(({ owner }) => owner));
});

for (const first of [0, 1, 2]) {
  Deno.test(`attempt() queues on the next node when node ${first} coordinates and fails`, async () => {
    const { clock, nodes, open, store } = quorum(3);
    const order = coordinators("a", 3);
    const list = Array.from({ length: 3 }, (_, i) => nodes[order.indexOf(i)]!);
    const name = ["a", "b", "c", "d", "e", "f"].find((name) => firstCoordinator(name, 3) === first)!;
    assert((await open().attempt(claimOf(name), attempt)).granted);
    assertEquals((await store.attempt(claimOf(name), attempt)).granted, false, "the name is known to be contended");
    list[first]!.condition = "failing";
    await after(clock, store.attempt(claimOf(name), { enqueue: true }));
    assertEquals((await list[(first + 1) % 3]!.query()).pending.length, 1);
  });
}

Deno.test("attempt() for a shared lock fails at once when no majority is possible", async () => {
  const { clock, nodes, store } = quorum(3);
  nodes[0]!.condition = "hanging";
  for (const node of nodes.slice(1)) node.condition = "failing";
  const { result, ms } = await after(clock, store.attempt({ ...claimOf(), mode: "shared" }, attempt));
  assert(result instanceof QuorumError && ms === 0, `${result} after ${ms} ms`);
  nodes[0]!.condition = "healthy";
});

Deno.test("attempt() for a shared lock gives up after six fences that were not confirmed", async () => {
  const { clock, nodes, store } = quorum(3);
  for (const node of nodes) {
    const vote = node.vote.bind(node);
    node.vote = (claim, options) => vote(claim, { ...options, maxClockSkew: -1e15 });
    node.confirm = () => Promise.resolve(false);
  }
  const { result } = await after(clock, store.attempt({ ...claimOf(), mode: "shared" }, attempt));
  assert("granted" in result && !result.granted);
  assertEquals(nodes.map(({ calls }) => calls.filter((call) => call === "vote").length), [6, 6, 6]);
});
