import { assert, assertEquals } from "@std/assert";
import { type Attempt, QuorumError, StoreError } from "@holdfast/lock";
import { NodeHealth } from "../../src/redlock/nodes/node_health.ts";
import { RedlockStore } from "../../src/redlock/store.ts";
import { settled } from "../support/virtual_clock.ts";
import { after, claimOf, LEASE, NODE_TIMEOUT, quorum } from "./quorum.ts";

const attempt = { enqueue: false };

Deno.test("attempt() is granted although the event loop was busy for a node time-out", async () => {
  const { clock, nodes, store } = quorum(3);
  for (const node of nodes) node.condition = "hanging";
  const attempted = store.attempt(claimOf(), attempt);
  attempted.catch(() => {}); // Handled below.
  clock.stall(20 * NODE_TIMEOUT);
  await clock.advance(0); // Timers come first, and what has arrived is read after them.
  for (const node of nodes) node.condition = "healthy";
  const { result } = await after(clock, attempted);
  assert("granted" in result && result.granted, `${result}`);
  assertEquals(clock.pending, 0);
});

Deno.test("attempt() of a handle that has one in flight has its outcome, and its age", async () => {
  const { clock, nodes, store } = quorum(3);
  for (const node of nodes) node.condition = "hanging";
  const claim = claimOf();
  const first = store.attempt(claim, { enqueue: true });
  await clock.advance(NODE_TIMEOUT / 2);
  const second = store.attempt(claim, { enqueue: true });
  assertEquals(nodes.map(({ calls }) => calls), [["vote"], ["vote"], ["vote"]]);
  for (const node of nodes) node.condition = "healthy";
  const { result: granted } = await after(clock, first);
  const { result: again } = await after(clock, second);
  assert("granted" in granted && granted.granted && "granted" in again && again.granted);
  assertEquals(again.fence, granted.fence);
  assertEquals([granted.age, again.age], [undefined, NODE_TIMEOUT / 2]);
  assert(await store.release(claim));
});

Deno.test("attempt() of a handle that has one in flight is refused like that", async () => {
  const { clock, nodes, open, store } = quorum(3);
  assert((await open().attempt(claimOf(), attempt)).granted);
  for (const node of nodes) node.condition = "hanging";
  const claim = claimOf();
  const both = [store.attempt(claim, { enqueue: true }), store.attempt(claim, { enqueue: true })];
  for (const node of nodes) node.condition = "healthy";
  const { result: [first, second] } = await after(clock, Promise.all(both)) as { result: Attempt[] };
  assert(!first!.granted);
  assertEquals(second, first);
});

Deno.test("renew() and release() succeed although the event loop was busy", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  for (const call of [() => store.renew(claim), () => store.release(claim)] as (() => Promise<unknown>)[]) {
    for (const node of nodes) node.condition = "hanging";
    const called = call();
    called.catch(() => {});
    clock.stall(20 * NODE_TIMEOUT);
    await clock.advance(0);
    for (const node of nodes) node.condition = "healthy";
    const { result } = await after(clock, called);
    assert(result === "renewed" || result === true, `${result}`);
  }
});

Deno.test("attempt() does not come past the queue of a coordinator that is slow to release", async () => {
  const { clock, nodes, open, store } = quorum(3);
  const [holder, waiter, newcomer] = [claimOf(), claimOf(), claimOf()];
  assert((await store.attempt(holder, attempt)).granted);
  assert(!(await open().attempt(waiter, { enqueue: true })).granted);
  // It is known that the name is busy: a first request goes to all nodes at once.
  assert(!(await store.attempt(newcomer, attempt)).granted);
  nodes[0]!.condition = "hanging";
  const { result: released } = await after(clock, store.release(holder));
  assertEquals(released, true);
  const attempted = store.attempt(newcomer, attempt);
  await clock.advance(1);
  nodes[0]!.condition = "healthy";
  const { result } = await after(clock, attempted);
  assert("granted" in result && !result.granted, "the waiter is next");
});

Deno.test("attempt() waits for a majority that is still connecting", async () => {
  for (const connecting of [[0, 1, 2], [0, 1], [1, 2]]) {
    const { clock, nodes, store } = quorum(3);
    for (const i of connecting) Object.assign(nodes[i]!, { connecting: true, condition: "hanging" });
    const attempted = store.attempt(claimOf(), attempt);
    attempted.catch(() => {}); // Handled below.
    await clock.advance(8.5 * NODE_TIMEOUT);
    for (const i of connecting) nodes[i]!.connecting = false;
    await clock.advance(NODE_TIMEOUT - 1);
    for (const i of connecting) nodes[i]!.condition = "healthy";
    const { result } = await after(clock, attempted);
    assert("granted" in result && result.granted, `${connecting}: ${result}`);
    assertEquals(clock.pending, 0);
  }
});

Deno.test("attempt() waits for a node that is still connecting where others have failed", async () => {
  for (const condition of ["failing", "hanging"] as const) {
    const { clock, nodes, store } = quorum(3);
    nodes[1]!.condition = condition;
    Object.assign(nodes[2]!, { connecting: true, condition: "hanging" });
    const attempted = store.attempt(claimOf(), attempt);
    attempted.catch(() => {}); // Handled below.
    await clock.advance(3 * NODE_TIMEOUT);
    Object.assign(nodes[2]!, { connecting: false, condition: "healthy" });
    const { result } = await after(clock, attempted);
    assert("granted" in result && result.granted, `${condition}: ${result}`);
  }
});

Deno.test("attempt() does not wait for a connecting node if a majority has answered", async () => {
  const { clock, nodes, open, store } = quorum(3);
  Object.assign(nodes[0]!, { connecting: true, condition: "hanging" });
  const holder = claimOf();
  assertEquals((await after(clock, store.attempt(holder, attempt))).ms, 0);
  // Its coordinator is asked alone for a name that is busy.
  const { result, ms } = await after(clock, store.attempt(claimOf(), attempt));
  assert("granted" in result && !result.granted);
  assert(ms <= NODE_TIMEOUT, `${ms} ms`);
  // And a waiter needs the answer of its coordinator.
  const waiter = await after(clock, open().attempt(claimOf(), { enqueue: true }));
  assert("granted" in waiter.result && !waiter.result.granted && waiter.ms <= NODE_TIMEOUT, `${waiter.ms} ms`);
});

Deno.test("attempt() waits for connecting nodes for 10 s, and then no longer", async () => {
  const { clock, nodes, store } = quorum(3);
  for (const node of nodes.slice(1)) Object.assign(node, { connecting: true, condition: "hanging" });
  const first = await after(clock, store.attempt(claimOf(), attempt));
  assert(first.result instanceof QuorumError, `${first.result}`);
  assert(first.ms >= 10_000 && first.ms <= 10_000 + 2 * NODE_TIMEOUT, `${first.ms} ms`);
  const second = await after(clock, store.attempt(claimOf("b"), attempt));
  assert(second.result instanceof QuorumError && second.ms <= NODE_TIMEOUT, `${second.ms} ms`);
});

Deno.test("attempt() does not wait for nodes whose connection was lost", async () => {
  const { clock, nodes, store } = quorum(3);
  for (const node of nodes.slice(1)) node.condition = "hanging";
  const { result, ms } = await after(clock, store.attempt(claimOf(), attempt));
  assert(result instanceof QuorumError && ms <= NODE_TIMEOUT, `${result} after ${ms} ms`);
});

Deno.test("QuorumError of nodes that do not answer names their connection errors", async () => {
  const { clock, nodes, store } = quorum(3);
  const refused = new Error("connect ECONNREFUSED 127.0.0.1:6379");
  for (const node of nodes.slice(1)) Object.assign(node, { condition: "hanging", connectionError: refused });
  const { result } = await after(clock, store.attempt(claimOf(), attempt));
  assert(result instanceof QuorumError);
  assert(!result.permanent);
  assertEquals(result.failures.length, 2);
  for (const { error } of result.failures) {
    assert(error instanceof Error);
    assertEquals(error.message, `no answer within ${NODE_TIMEOUT} ms: ${refused.message}`);
    assertEquals(error.cause, refused);
  }
  assert(result.message.includes(refused.message), result.message);
});

Deno.test("QuorumError is permanent when no majority is possible any more", async () => {
  const denied = new StoreError("NOPERM", { permanent: true });
  for (const [places, permanent] of [[[0, 1, 2], true], [[1, 2], true], [[1], false]] as const) {
    const { clock, nodes, store } = quorum(3);
    for (const node of nodes.slice(1)) node.condition = "failing";
    for (const i of places) Object.assign(nodes[i]!, { condition: "failing", failure: denied });
    const { result } = await after(clock, store.attempt(claimOf(), attempt));
    assert(result instanceof QuorumError);
    assertEquals(result.permanent, permanent, `${places}`);
  }
});

Deno.test("QuorumError of store errors that may pass is not permanent", async () => {
  const { clock, nodes, store } = quorum(3);
  for (const node of nodes) Object.assign(node, { condition: "failing", failure: new StoreError("LOADING") });
  const { result } = await after(clock, store.attempt(claimOf(), attempt));
  assert(result instanceof QuorumError && !result.permanent, `${result}`);
});

Deno.test("release() rejects at once with permanent errors of a majority, without retries", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  nodes[0]!.condition = "hanging";
  const failure = new StoreError("WRONGTYPE", { permanent: true });
  for (const node of nodes.slice(1)) Object.assign(node, { condition: "failing", failure });
  const { result, ms } = await after(clock, store.release(claim));
  assert(result instanceof QuorumError && result.permanent, `${result}`);
  assertEquals(ms, 0);
  assertEquals(result.failures.map(({ error }) => error), [failure, failure]);
  assert(result.cause instanceof AggregateError && result.cause.errors[0] === failure);
  await clock.advance(60_000);
  for (const node of nodes.slice(1)) assertEquals(node.calls.filter((call) => call === "release").length, 1);
  nodes[0]!.condition = "healthy";
  await settled();
  assertEquals(clock.pending, 0);
});

Deno.test("release() that is retried ends with the first permanent error", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  const [, , last] = nodes;
  last!.condition = "failing";
  assertEquals((await after(clock, store.release(claim))).result, true);
  last!.failure = new StoreError("WRONGTYPE", { permanent: true });
  await clock.advance(60_000);
  assertEquals(last!.calls.filter((call) => call === "release").length, 2);
  assertEquals(clock.pending, 0);
});

Deno.test("release() that is retried asks failed nodes at once, and not those that hang", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  const [first, second, third] = nodes;
  first!.condition = "hanging";
  second!.condition = third!.condition = "failing";
  const releases = () => nodes.map(({ calls }) => calls.filter((call) => call === "release").length);
  for (let tries = 1; tries <= 3; tries++) {
    const { result, ms } = await after(clock, store.release(claim));
    assert(result instanceof QuorumError && ms === 0, `${result} after ${ms} ms`);
    assertEquals(new Set(result.failures.map(({ error }) => error)), new Set([second!.failure, third!.failure]));
    assertEquals(releases(), [1, tries, tries]);
  }
  second!.condition = third!.condition = "healthy";
  assertEquals((await after(clock, store.release(claim))).result, true);
  first!.condition = "healthy";
  await settled();
  assertEquals(nodes.flatMap((node) => node.names), []);
});

Deno.test("release() does not ask a node again while its call is under way", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  const [, second, third] = nodes;
  second!.condition = third!.condition = "failing";
  await after(clock, store.release(claim));
  second!.condition = third!.condition = "hanging";
  for (let tries = 0; tries < 2; tries++) {
    assert((await after(clock, store.release(claim))).result instanceof QuorumError);
    assertEquals(second!.calls.filter((call) => call === "release").length, 2);
  }
  assertEquals(clock.pending, 0);
  second!.condition = third!.condition = "healthy";
  await settled();
  assertEquals(nodes.flatMap((node) => node.names), []);
});

Deno.test("release() is retried on a node less and less often, for as long as the lease", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  const last = nodes[2]!;
  last.condition = "failing";
  const began = clock.now().monotonic;
  const times: number[] = [];
  const release = last.release.bind(last);
  last.release = (claim) => {
    times.push(clock.now().monotonic - began);
    return release(claim);
  };
  assertEquals(await store.release(claim), true);
  await clock.advance(2 * LEASE);
  assertEquals(times.slice(0, 8), [0, 50, 150, 350, 750, 1_550, 2_550, 3_550]);
  assertEquals(times.at(-1), LEASE + 550);
  assertEquals(clock.pending, 0);
});

Deno.test("NodeHealth is down for longer with each failure, but not while it is down", async () => {
  const { clock, nodes: [node] } = quorum(1);
  const health = new NodeHealth(node!, clock);
  for (const ms of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    for (let i = 0; i < 5; i++) health.note(false);
    await clock.advance(ms - 1);
    assert(health.down && health.failed, `${ms}`);
    await clock.advance(1);
    assert(!health.down && health.failed, `${ms}`);
  }
  health.note(true);
  assert(!health.failed);
  health.note(false);
  await clock.advance(1_000);
  assert(!health.down);
});

Deno.test("NodeHealth gives each connection that is made anew the whole time", async () => {
  const { clock, nodes: [node] } = quorum(1);
  const health = new NodeHealth(node!, clock);
  for (let i = 0; i < 2; i++) {
    node!.connecting = true;
    assert(health.connecting);
    await clock.advance(9_999);
    assert(health.connecting);
    await clock.advance(1);
    assert(!health.connecting);
    node!.connecting = false;
    assert(!health.connecting);
  }
});

Deno.test("RedlockStore waits for nodes as long as its option says", async () => {
  const { clock, nodes } = quorum(3);
  const settings = { nodeTimeout: 700, maxClockSkew: 10_000, driftFactor: 0.01, observer: undefined };
  const store = new RedlockStore(nodes, settings, clock, () => 0.5);
  for (const node of nodes) node.condition = "hanging";
  const { result, ms } = await after(clock, store.attempt(claimOf(), attempt));
  assert(result instanceof QuorumError);
  assertEquals(ms, 700);
});

Deno.test("RedlockStore is closed once so many nodes are closed that no majority is left", () => {
  for (const [n, needed] of [[1, 1], [3, 2], [4, 2], [5, 3]] as const) {
    const { nodes, store } = quorum(n);
    for (let closed = 0; closed < n; closed++) {
      assertEquals(store.closed, closed >= needed, `${closed} of ${n}`);
      Object.assign(nodes[closed]!, { closed: true });
    }
  }
});

Deno.test("release() is not retried on a node that was closed", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  const last = Object.assign(nodes[2]!, { condition: "failing", closed: true });
  assertEquals(await store.release(claim), true);
  await clock.advance(LEASE);
  assertEquals(last.calls.filter((call) => call === "release").length, 1);
});

Deno.test("release() of a waiter that is retried asks its node at once", async () => {
  const { clock, nodes: [first], open, store } = quorum(3);
  assert((await open().attempt(claimOf(), attempt)).granted);
  const waiter = claimOf();
  assert(!(await store.attempt(waiter, { enqueue: true })).granted);
  first!.condition = "failing";
  for (let tries = 0; tries < 5; tries++) {
    const { result, ms } = await after(clock, store.release(waiter));
    assert(result instanceof Error && ms === 0, `${result} after ${ms} ms`);
  }
  first!.condition = "healthy";
  const { result, ms } = await after(clock, store.release(waiter));
  assertEquals([result, ms], [true, 0]);
});
