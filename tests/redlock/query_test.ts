import { assert, assertEquals, assertRejects } from "@std/assert";
import { QuorumError } from "@holdfast/lock";
import { redlock } from "@holdfast/lock/redlock";
import type { Claim } from "../../src/contract/store.ts";
import { grant } from "../support/claims.ts";
import { FaultyNode } from "./faulty_node.ts";
import { failing, hanging, listedQuorum, pages } from "./listing_place.ts";
import { after, claimOf, LEASE, NODE_TIMEOUT } from "./quorum.ts";

const described = (name = "a"): Claim => ({ ...claimOf(name, 2 * LEASE), meta: JSON.stringify({ job: name }) });

Deno.test("query() lists a holder once, under its owner, with all that is known of it", async () => {
  const { clock, store } = listedQuorum();
  const claim = described();
  const since = clock.now().wall;
  const fence = await grant(store, claim);
  await clock.advance(1_000);
  const { name, owner, mode, lease } = claim;
  const expiresIn = lease - 1_000;
  const entry = { name, owner, handle: owner, mode, permits: undefined, meta: { job: "a" }, since, expiresIn, fence };
  assertEquals(await store.query!(), { held: [entry], pending: [] });
});

Deno.test("query() lists a fence that was confirmed above the counters of the nodes", async () => {
  const { clock, nodes, store } = listedQuorum();
  const before = { ...claimOf(), owner: "before" };
  const ahead = BigInt(clock.now().wall + 5_000) * 1_000n;
  for (const node of nodes) {
    await node.vote(before, { enqueue: false, guess: ahead, maxClockSkew: 10_000 });
    await node.release(before);
  }
  const fence = await grant(store, claimOf());
  assert(fence > ahead);
  assertEquals((await store.query!()).held.map((entry) => entry.fence), [fence]);
});

Deno.test("query() lists no holder that only a minority has", async () => {
  const { order, store } = listedQuorum();
  const claim = claimOf();
  await grant(store, claim);
  await order[0]!.lose(claim);
  assertEquals((await store.query!()).held.length, 1);
  await order[1]!.lose(claim);
  assertEquals((await store.query!()).held, []);
});

Deno.test("query() lists for how long a majority has the lock", async () => {
  const { nodes, store } = listedQuorum();
  const claim = claimOf();
  await grant(store, claim);
  const lengthen = async (i: number) => {
    const { held: [entry] } = await nodes[i]!.query();
    await nodes[i]!.renew({ ...claim, owner: entry!.owner, lease: 2 * LEASE, renewal: 1 });
  };
  const expiresIn = async () => (await store.query!()).held[0]?.expiresIn;
  await lengthen(0);
  assertEquals(await expiresIn(), LEASE);
  await lengthen(1);
  assertEquals(await expiresIn(), 2 * LEASE);
});

Deno.test("query() lists waiters in the order of their queue, with rank and meta", async () => {
  const { clock, store } = listedQuorum();
  await grant(store, claimOf());
  const claims = [described(), described(), described()];
  const since: number[] = [];
  for (const claim of claims) {
    since.push(clock.now().wall);
    assert(!(await store.attempt(claim, { enqueue: true })).granted);
    await clock.advance(10);
  }
  const { pending } = await store.query!();
  assertEquals(pending.map(({ owner, handle }) => [owner, handle]), claims.map(({ owner }) => [owner, owner]));
  assertEquals(pending.map(({ rank }) => rank), [0, 1, 2]);
  assertEquals(pending.map(({ meta }) => meta?.["job"]), ["a", "a", "a"]);
  assertEquals(pending.map((entry) => entry.since), since);
});

Deno.test("query() lists once who waits on two nodes, and not who holds the lock", async () => {
  const { clock, order, store } = listedQuorum();
  const [holder, waiter] = [claimOf(), claimOf()];
  await grant(store, holder);
  for (const { owner } of [waiter, holder]) {
    for (const node of order.slice(1)) {
      const claim = { ...claimOf(), owner: `${owner}:${crypto.randomUUID()}` };
      await node.vote(claim, { enqueue: true, guess: BigInt(clock.now().wall) * 1_000n, maxClockSkew: 10_000 });
    }
  }
  assertEquals((await store.query!()).pending.map(({ owner }) => owner), [waiter.owner]);
});

Deno.test("query() needs a majority of the nodes", async () => {
  const { clock, nodes, store } = listedQuorum();
  const claim = claimOf("a", 10 * LEASE);
  const { owner } = claim;
  await grant(store, claim);
  nodes[1]!.fault = failing;
  assertEquals((await store.query!()).held.map((entry) => entry.owner), [owner]);
  nodes[1]!.fault = hanging;
  const one = await after(clock, store.query!());
  assert(!(one.result instanceof Error) && one.result.held.length === 1);
  assert(one.ms >= NODE_TIMEOUT && one.ms < NODE_TIMEOUT + 20, `waits ${one.ms} ms for the node that hangs`);
  nodes[0]!.fault = failing;
  for (const query of [{}, { name: "a" }, { limit: 10 }]) {
    const { result } = await after(clock, pages(store, query));
    assert(result instanceof QuorumError, `${result}`);
    assert(result.message.startsWith("Cannot list locks on 2 of 3 nodes: node "), result.message);
  }
});

Deno.test("query() of one name, or of a pattern, lists no other locks", async () => {
  const { store } = listedQuorum();
  for (const name of ["a", "ab", "b"]) await grant(store, claimOf(name));
  const names = async (options: { name?: string; match?: string; limit?: number }) =>
    (await pages(store, options)).held.map(({ name }) => name).sort();
  assertEquals(await names({ name: "a" }), ["a"]);
  assertEquals(await names({ name: "a", limit: 1 }), ["a"]);
  assertEquals(await names({ match: "a*" }), ["a", "ab"]);
  assertEquals([...new Set(await names({ match: "*b", limit: 1 }))], ["ab", "b"]);
});

const NAMES = ["a", "b", "c", "d", "e", "f", "g"];

Deno.test("query() lists in pages each lock once, unless it is young", async () => {
  const { clock, nodes, store } = listedQuorum();
  for (const name of NAMES) await grant(store, claimOf(name));
  assertEquals((await pages(store, { limit: 2 })).held.length, 3 * NAMES.length, "which nodes had them is not known");
  await clock.advance(11_000);
  // One that each node has lost, in turn.
  for (const [i, node] of nodes.entries()) await node.lose(claimOf(NAMES[i]!));
  const { held, pages: count } = await pages(store, { limit: 2 });
  assertEquals(held.map(({ name }) => name).sort(), NAMES);
  assert(count > 3);
  assertEquals((await store.query!({ cursor: (await store.query!({ limit: 2 })).cursor })).cursor, undefined);
});

Deno.test("query() lists waiters with their lock, also in pages", async () => {
  const { clock, store } = listedQuorum();
  for (const name of NAMES) {
    await grant(store, claimOf(name));
    for (let i = 0; i < 2; i++) await store.attempt(claimOf(name), { enqueue: true });
  }
  await clock.advance(11_000);
  const { pending } = await pages(store, { limit: 3 });
  assertEquals(pending.map(({ name }) => name).sort(), [...NAMES, ...NAMES].sort());
  assertEquals(pending.map(({ rank }) => rank), NAMES.flatMap(() => [0, 1]));
});

Deno.test("query() lists all locks although a node fails between two pages", async () => {
  for (const failed of [0, 1, 2]) {
    const { clock, nodes, store } = listedQuorum();
    for (const name of NAMES) await grant(store, claimOf(name));
    await clock.advance(11_000);
    const { held } = await pages(store, { limit: 2 }, () => {
      nodes[failed]!.fault = failing;
    });
    assertEquals([...new Set(held.map(({ name }) => name))].sort(), NAMES);
  }
});

Deno.test("query() lists all locks although a node fails for a moment", async () => {
  const { clock, nodes, store } = listedQuorum();
  for (const name of NAMES) await grant(store, claimOf(name));
  await clock.advance(11_000);
  const { held } = await pages(store, { limit: 2 }, (page) => {
    nodes[0]!.fault = page === 1 ? failing : undefined;
  });
  assertEquals([...new Set(held.map(({ name }) => name))].sort(), NAMES);
});

Deno.test("query() rejects when one node after the other fails between two pages", async () => {
  const { clock, nodes, store } = listedQuorum();
  for (const name of NAMES) await grant(store, claimOf(name));
  await clock.advance(11_000);
  let walked = 0;
  const failOne = () => {
    for (const [i, node] of nodes.entries()) node.fault = i === walked ? failing : undefined;
    walked++;
  };
  await assertRejects(() => pages(store, { limit: 2 }, failOne), QuorumError, "Cannot list locks on 2 of 3 nodes");
});

Deno.test("query() of a node lists no fence for a vote that raised no counter", async () => {
  const { clock, nodes: [node] } = listedQuorum();
  const [first, second] = [claimOf(), claimOf()];
  const guess = BigInt(clock.now().wall) * 1_000n;
  const options = { enqueue: false, guess, maxClockSkew: 10_000 };
  const fence = async () => (await node!.query()).held.map((entry) => entry.fence);
  await node!.vote(first, options);
  assertEquals(await fence(), [guess]);
  await node!.vote(first, options);
  assertEquals(await fence(), [guess], "executed twice");
  await node!.release(first);
  await node!.vote(second, options);
  assertEquals(await fence(), [undefined]);
  assert(await node!.confirm(second, guess + 1n, guess + 9n));
  assertEquals(await fence(), [guess + 1n]);
});

Deno.test("query() rejects bad options and the cursor of another store", async () => {
  const { store } = listedQuorum();
  for (const cursor of ["", "x", "[]", "{}", "[3,null,0,[]]", "[0,1,0,[]]", "[0,null,0,[7]]", "[0,null,0]"]) {
    await assertRejects(() => store.query!({ limit: 1, cursor }), RangeError, "cursor");
  }
  await assertRejects(() => store.query!({ limit: 0 }), RangeError, "limit");
  await assertRejects(() => store.query!({ name: "a", match: "a" }), TypeError, "name");
});

Deno.test("redlock() can list and evict if all of its nodes can", () => {
  const { clock, nodes } = listedQuorum();
  const store = redlock(nodes);
  assertEquals([...store.capabilities ?? []].sort(), ["evict", "fences", "query", "shared"]);
  const other = redlock([...nodes.slice(1), new FaultyNode(clock)]);
  assertEquals([...other.capabilities ?? []].sort(), ["fences", "query", "shared"]);
  assertEquals(other.evict, undefined);
});
