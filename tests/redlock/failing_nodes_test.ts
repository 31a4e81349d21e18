import { assert, assertEquals, assertRejects } from "@std/assert";
import { QuorumError } from "@holdfast/lock";
import { coordinators } from "../../src/redlock/attempt/coordinators.ts";
import { Nodes } from "../../src/redlock/nodes/nodes.ts";
import { Round } from "../../src/redlock/attempt/round.ts";
import { settled } from "../support/virtual_clock.ts";
import type { FaultyNode } from "./faulty_node.ts";
import { after, claimOf, LEASE, NODE_TIMEOUT, quorum } from "./quorum.ts";

const attempt = { enqueue: false };

for (const condition of ["failing", "hanging"] as const) {
  Deno.test(`release() of a bare majority succeeds although a node of it is ${condition}`, async () => {
    const { clock, nodes, open, store } = quorum(3);
    const [, second, third] = nodes;
    third!.condition = "failing";
    const claim = claimOf();
    assert((await store.attempt(claim, attempt)).granted);
    third!.condition = "healthy";
    second!.condition = condition;
    const { result, ms } = await after(clock, store.release(claim));
    assertEquals(result, true);
    assert(ms <= NODE_TIMEOUT, `${ms} ms`);
    const { result: next } = await after(clock, open().attempt(claimOf(), attempt));
    assert("granted" in next && next.granted);
  });
}

Deno.test("release() resolves to false when a majority of the nodes has lost the lock", async () => {
  const { clock, nodes, store } = quorum(5);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  // Somebody has deleted it there, and one that may have kept it does not answer.
  for (const node of nodes.slice(0, 3)) node.release = () => Promise.resolve(false);
  nodes[4]!.condition = "failing";
  assertEquals((await after(clock, store.release(claim))).result, false);
});

Deno.test("release() rejects while a majority of the nodes fails, and then succeeds", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  for (const node of nodes.slice(1)) node.condition = "failing";
  const { result, ms } = await after(clock, store.release(claim));
  assert(result instanceof QuorumError && ms <= NODE_TIMEOUT, `${result} after ${ms} ms`);
  nodes[1]!.condition = "healthy";
  assertEquals((await after(clock, store.release(claim))).result, true);
  nodes[2]!.condition = "healthy";
  await clock.advance(2_000);
  assertEquals(nodes.flatMap((node) => node.names), []);
  assertEquals(clock.pending, 0);
});

Deno.test("release() rejects while half of four nodes fail: the others are no majority", async () => {
  const { clock, nodes, open, store } = quorum(4);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  for (const node of nodes.slice(2)) node.condition = "failing";
  const { result } = await after(clock, store.release(claim));
  assert(result instanceof QuorumError, `${result}`);
  for (const node of nodes) node.condition = "healthy";
  assertEquals((await after(clock, store.release(claim))).result, true);
  const { result: next } = await after(clock, open().attempt(claimOf(), attempt));
  assert("granted" in next && next.granted);
});

Deno.test("release() does not wait for a node that hangs, and frees it later", async () => {
  const { clock, nodes, store } = quorum(3);
  for (const frozen of nodes) {
    const claim = claimOf();
    assert((await store.attempt(claim, attempt)).granted);
    frozen.condition = "hanging";
    const { result, ms } = await after(clock, store.release(claim));
    assertEquals(result, true);
    assert(ms < NODE_TIMEOUT / 10, `${ms} ms`);
    // However long that takes: the call is not sent twice.
    await clock.advance(3 * LEASE);
    assertEquals(frozen.calls.filter((call) => call === "release").length, 1);
    assertEquals(clock.pending, 0);
    frozen.condition = "healthy";
    await settled();
    assertEquals(nodes.flatMap((node) => node.names), []);
    for (const node of nodes) node.calls.length = 0;
  }
});

const lateVotes: Record<string, { disturb: (node: FaultyNode) => void; releases: number }> = {
  "in order": { disturb: () => {}, releases: 1 },
  "overtaken by the release": { disturb: (node) => node.reorder(), releases: 2 },
  "overtaken by a release that was cut off": {
    disturb: (node) => {
      node.reorder();
      node.cut();
    },
    releases: 2,
  },
  "of a node that was cut off": { disturb: (node) => node.cut(), releases: 2 },
};

for (const [which, { disturb, releases }] of Object.entries(lateVotes)) {
  for (const session of [0, undefined]) {
    const executed = session === undefined ? "maybe twice" : "once";
    Deno.test(`attempt() releases a vote executed late and ${executed}, ${which}`, async () => {
      const { nodes, store } = quorum(3);
      const [, , late] = nodes;
      const claim = claimOf();
      late!.session = session;
      late!.condition = "hanging";
      assert((await store.attempt(claim, attempt)).granted);
      assertEquals(await store.release(claim), true);
      disturb(late!);
      late!.condition = "healthy";
      await settled();
      const again = session === undefined || releases === 2;
      assertEquals(late!.calls, ["vote", "release", ...again ? ["release"] : []]);
      assertEquals(nodes.flatMap((node) => node.names), []);
    });
  }
}

Deno.test("attempt() releases nothing after a late refusal without a place in a queue", async () => {
  const { nodes, store } = quorum(3);
  const [, , late] = nodes;
  assert((await late!.attempt(claimOf(), attempt)).granted);
  late!.condition = "hanging";
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  assertEquals(await store.release(claim), true);
  late!.condition = "healthy";
  await settled();
  assertEquals(late!.calls, ["vote", "release"]);
});

Deno.test("attempt() releases a late vote again if its node was cut off while it was sent", async () => {
  const { nodes, store } = quorum(3);
  const [, , late] = nodes;
  const vote = late!.vote.bind(late);
  late!.vote = (...args) => {
    late!.cut();
    return vote(...args);
  };
  late!.condition = "hanging";
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  assertEquals(await store.release(claim), true);
  late!.condition = "healthy";
  await settled();
  assertEquals(late!.calls, ["vote", "release", "release"]);
});

for (const keeps of [false, true]) {
  const by = keeps ? "of the round that kept its place" : "of its round";
  Deno.test(`Round.vote() after the release ${by} is released`, async () => {
    const { clock, nodes: [node] } = quorum(1);
    let round = new Round(new Nodes([node!], undefined, clock), "me");
    const [claim, holder] = [claimOf(), claimOf()];
    const options = { enqueue: true, guess: 1n, maxClockSkew: 0 };
    if (keeps) assert((await node!.attempt(holder, attempt)).granted);
    // As when its client has to listen before it can queue.
    const late = Promise.withResolvers<void>();
    const vote = node!.vote.bind(node);
    node!.vote = async (...args) => {
      node!.vote = vote;
      await late.promise;
      return await vote(...args);
    };
    const first = round.vote(claim, 0, options);
    assertEquals((await round.vote(claim, 0, options)).granted, !keeps);
    if (keeps) {
      const before = round;
      round = before.next(claim, 0);
      assertEquals(await Promise.all(before.release(claim, 0).map(({ done }) => done)), [false]);
    }
    assertEquals(await Promise.all(round.release(claim, 0).map(({ done }) => done)), [true]);
    await node!.release(holder);
    late.resolve();
    assert((await first).granted);
    await settled();
    assertEquals(node!.names, []);
  });
}

Deno.test("release() frees what was won only after more than two leases", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf("a", 10);
  for (const node of nodes) node.condition = "hanging";
  const attempted = store.attempt(claim, attempt);
  await clock.advance(30);
  for (const node of nodes) node.condition = "healthy";
  assert((await attempted).granted);
  const other = claimOf("b");
  assert((await store.attempt(other, attempt)).granted);
  assertEquals([await store.release(claim), await store.release(other)], [true, true]);
  await settled();
  assertEquals(nodes.flatMap((node) => node.names), []);
});

Deno.test("attempt() and release() ask the coordinator before the other nodes", async () => {
  const { nodes, store } = quorum(3);
  const asked: [string, number][] = [];
  for (const [i, node] of nodes.entries()) {
    const [vote, release] = [node.vote.bind(node), node.release.bind(node)];
    node.vote = (...args) => {
      asked.push(["vote", i]);
      return vote(...args);
    };
    node.release = (claim) => {
      asked.push(["release", i]);
      return release(claim);
    };
  }
  const order = coordinators("a", 3);
  for (const name of ["a", "b", "c", "d", "e", "f"]) {
    const claim = claimOf(name);
    assert((await store.attempt(claim, attempt)).granted);
    assertEquals(await store.release(claim), true);
    await settled();
    const first = order.indexOf(coordinators(name, 3)[0]!);
    assertEquals([asked[0], asked[3]], [["vote", first], ["release", first]], name);
    asked.length = 0;
  }
});

Deno.test("release() waits a short time for a slow coordinator", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  nodes[0]!.condition = "hanging";
  const released = store.release(claim).then(() => nodes[0]!.names);
  await clock.advance(5);
  nodes[0]!.condition = "healthy";
  assertEquals((await after(clock, released)).result, []);
});

Deno.test("release() may resolve before a slow coordinator is free", async () => {
  const { clock, nodes, open, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  const rival = open();
  assert(!(await rival.attempt(claimOf(), attempt)).granted);
  nodes[0]!.condition = "hanging";
  assertEquals((await after(clock, store.release(claim))).result, true);
  const refused = rival.attempt(claimOf(), attempt);
  await settled();
  // Over two connections the server may read the attempt before the release.
  nodes[0]!.reorder();
  nodes[0]!.condition = "healthy";
  assert(!(await refused).granted);
  await settled();
  assert((await rival.attempt(claimOf(), attempt)).granted);
});

Deno.test("release() on a majority that hangs rejects until the lock is forgotten", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  for (const node of nodes.slice(1)) node.condition = "hanging";
  for (let tries = 0; tries < 3; tries++) {
    const { result } = await after(clock, store.release(claim));
    assert(result instanceof QuorumError, `${result}`);
  }
  for (const node of nodes) node.condition = "healthy";
  await clock.advance(2 * LEASE);
  assert((await store.attempt(claimOf("b"), attempt)).granted);
  assertEquals(await store.release(claim), false, "it is forgotten");
});

Deno.test("release() frees the nodes after a renewal whose answers were lost", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf("a", 1_000);
  assert((await store.attempt(claim, attempt)).granted);
  await clock.advance(900);
  for (const node of nodes) {
    const renew = node.renew.bind(node);
    node.renew = async (claim) => {
      await renew(claim);
      throw new Error("the answer was lost");
    };
  }
  assert((await after(clock, store.renew(claim))).result instanceof QuorumError);
  await clock.advance(600);
  assert((await store.attempt(claimOf("b", 1_000), attempt)).granted);
  assertEquals(await store.release(claim), true);
  assertEquals(nodes.flatMap((node) => node.names), ["b", "b", "b"]);
});

Deno.test("attempt() leaves nothing when one of the nodes cannot be asked at all", async () => {
  const { nodes, store } = quorum(3);
  nodes[1]!.vote = nodes[1]!.release = () => {
    throw new RangeError("a key that cannot be made");
  };
  const claim = claimOf();
  await assertRejects(() => store.attempt(claim, attempt), RangeError);
  await store.release(claim);
  await settled();
  assertEquals(nodes.flatMap((node) => node.names), []);
});

Deno.test("release() counts a node that throws as one that fails", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  const release = nodes[1]!.release;
  nodes[1]!.release = () => {
    throw new RangeError("a key that cannot be made");
  };
  assertEquals((await after(clock, store.release(claim))).result, true);
  nodes[1]!.release = release;
  await clock.advance(100);
  assertEquals(nodes.flatMap((node) => node.names), []);
});

Deno.test("attempt() takes at most two node time-outs, however many nodes hang", async () => {
  const { clock, nodes, open, store } = quorum(5);
  const [holder, other] = [claimOf(), claimOf()];
  assert((await open().attempt(holder, attempt)).granted);
  assertEquals((await store.attempt(other, attempt)).granted, false, "the name is known to be contended");
  for (const node of nodes.slice(0, 3)) node.condition = "hanging";
  const { result, ms } = await after(clock, store.attempt(claimOf(), attempt));
  assert(result instanceof QuorumError, `${result}`);
  assert(ms <= 2 * NODE_TIMEOUT, `${ms} ms`);
});

Deno.test("attempt() asks the coordinator alone for a name that its store uses", async () => {
  const { clock, nodes, store } = quorum(5);
  const [coordinator, ...others] = nodes;
  const votes = (nodes: FaultyNode[]) => nodes.map(({ calls }) => calls.filter((call) => call === "vote").length);
  const claims = Array.from({ length: 32 }, () => claimOf());
  const attempts = await Promise.all(claims.map((claim) => store.attempt(claim, attempt)));
  assertEquals(attempts.filter(({ granted }) => granted).length, 1);
  assertEquals(votes(others), [1, 1, 1, 1], "at once");
  await clock.advance(5_000);
  assertEquals((await store.attempt(claimOf(), attempt)).granted, false);
  assertEquals(votes(others), [1, 1, 1, 1], "while it is held");
  assertEquals(votes([coordinator!]), [33]);
  for (const claim of claims) await store.release(claim);
  await clock.advance(1_000);
  const late = claimOf();
  coordinator!.condition = "hanging";
  const { ms } = await after(clock, store.attempt(late, attempt));
  assertEquals(ms, 0, "all are asked at once when nobody is at it any more");
});

Deno.test("attempt() asks all nodes at once again after a lease has run out", async () => {
  const { clock, nodes, store } = quorum(3);
  for (let i = 0; i < 3; i++) {
    assert((await store.attempt(claimOf("a", 1_000), attempt)).granted);
    await clock.advance(2_000);
  }
  nodes[0]!.condition = "hanging";
  assertEquals((await after(clock, store.attempt(claimOf(), attempt))).ms, 0);
});

Deno.test("attempt() with the coordinator's vote waits for the last holder's release", async () => {
  const { clock, nodes, store } = quorum(3);
  const before = claimOf();
  for (const node of nodes) await node.attempt(before, attempt);
  await nodes[0]!.release(before);
  const asked = store.attempt(claimOf(), attempt);
  await clock.advance(5);
  for (const node of nodes.slice(1)) await node.release(before);
  const { result } = await after(clock, asked);
  assert("granted" in result && result.granted);
});

Deno.test("attempt() queues on the next node at once when the coordinator hangs", async () => {
  const { clock, nodes: [first, second], open, store } = quorum(3);
  assert((await open().attempt(claimOf(), attempt)).granted);
  assertEquals((await store.attempt(claimOf(), attempt)).granted, false, "the name is known to be contended");
  first!.condition = "hanging";
  const { ms } = await after(clock, store.attempt(claimOf(), { enqueue: true }));
  assertEquals([(await second!.query()).pending.length, ms], [1, NODE_TIMEOUT]);
});

Deno.test("attempt() waits less and less often for a coordinator that hangs", async () => {
  const { clock, nodes, open, store } = quorum(3);
  assert((await open().attempt(claimOf(), attempt)).granted);
  nodes[0]!.condition = "hanging";
  assertEquals((await after(clock, store.attempt(claimOf(), attempt))).result, { granted: false, retryAfter: 13.5 });
  let waited = 0;
  for (let i = 0; i < 250; i++) {
    const { ms } = await after(clock, store.attempt(claimOf(), attempt));
    if (ms > 0) waited++;
    await clock.advance(100);
  }
  assert(3 <= waited && waited <= 5, `${waited} times`);
});

Deno.test("attempt() uses a coordinator again that has answered late", async () => {
  const { clock, nodes, open, store } = quorum(3);
  const [coordinator, second] = nodes;
  const holder = claimOf();
  assert((await open().attempt(holder, attempt)).granted);
  assertEquals((await store.attempt(claimOf(), attempt)).granted, false, "the name is known to be contended");
  coordinator!.condition = "hanging";
  await after(clock, store.attempt(claimOf(), attempt));
  coordinator!.condition = "healthy";
  await settled();
  const votes = () => second!.calls.filter((call) => call === "vote").length;
  const before = votes();
  assertEquals((await store.attempt(claimOf(), attempt)).granted, false);
  assertEquals(votes(), before, "the coordinator alone was asked");
});

Deno.test("release() frees a node where the lock was restored, and the answer was lost", async () => {
  const { clock, nodes, store } = quorum(3);
  const [, , third] = nodes;
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  // It lost the lock, and takes it again only after the release: on a connection of its own.
  const late = Promise.withResolvers<void>();
  const retake = third!.retake.bind(third);
  third!.retake = async (claim, fence) => {
    await late.promise;
    await retake(claim, fence);
    throw new Error("the answer was lost");
  };
  third!.renew = () => Promise.resolve("lost");
  await third!.loseLock();
  assertEquals(await store.renew(claim), "renewed");
  await settled();
  assertEquals(await store.release(claim), true);
  late.resolve();
  await settled();
  await clock.advance(100);
  assertEquals(nodes.flatMap((node) => node.names), []);
});

Deno.test("release() leaves the queue of a node that fails for longer than the lease", async () => {
  const { clock, nodes, store } = quorum(3);
  assert((await store.attempt(claimOf("a", 60_000), attempt)).granted);
  const waiter = claimOf("a", 100);
  assertEquals((await store.attempt(waiter, { enqueue: true })).granted, false);
  nodes[0]!.condition = "failing";
  await after(clock, store.release(waiter));
  await clock.advance(5_000);
  nodes[0]!.condition = "healthy";
  const asked = nodes[0]!.calls.length;
  await clock.advance(2_000);
  assert(nodes[0]!.calls.slice(asked).includes("release"));
});
