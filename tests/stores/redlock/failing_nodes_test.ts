import { assert, assertEquals, assertRejects } from "@std/assert";
import { QuorumError } from "@holdfast/lock";
import type { Claim } from "../../../src/store.ts";
import { coordinators } from "../../../src/stores/redlock/arithmetic.ts";
import { Nodes } from "../../../src/stores/redlock/nodes.ts";
import { Round } from "../../../src/stores/redlock/round.ts";
import { RedlockStore } from "../../../src/stores/redlock/store.ts";
import { settled, VirtualClock } from "../../virtual_clock.ts";
import { FaultyNode } from "./faulty_node.ts";

const LEASE = 30_000;
const NODE_TIMEOUT = LEASE / 100;

/** Nodes that can fail, in the order in which they coordinate the name "a", and a store on them. */
function quorum(n: number) {
  const clock = new VirtualClock();
  const nodes = Array.from({ length: n }, () => new FaultyNode(clock));
  const settings = { nodeTimeout: undefined, maxClockSkew: 10_000, driftFactor: 0.01, observer: undefined };
  const open = () => new RedlockStore(nodes, settings, clock, () => 0.5);
  const order = coordinators("a", n).map((i) => nodes[i]!);
  return { clock, nodes: order, open, store: open() };
}

function claimOf(name = "a", lease = LEASE): Claim {
  return { name, owner: crypto.randomUUID(), mode: "exclusive", lease };
}

/** What a promise comes to, while the clock goes on; and after how many milliseconds. */
async function after<T>(clock: VirtualClock, promise: Promise<T>): Promise<{ result: T | Error; ms: number }> {
  let result: { of: T | Error } | undefined;
  promise.then((value) => result = { of: value }, (error: Error) => result = { of: error });
  await settled();
  let ms = 0;
  for (; result === undefined; ms++) {
    assert(ms < 120_000, "it hangs");
    await clock.advance(1);
  }
  return { result: result.of, ms };
}

const attempt = { enqueue: false };

for (const mood of ["failing", "deaf"] as const) {
  Deno.test(`release() of a lock on just a majority succeeds when one of its nodes is ${mood}, and others get it`, async () => {
    const { clock, nodes, open, store } = quorum(3);
    const [, second, third] = nodes;
    third!.mood = "failing";
    const claim = claimOf();
    assert((await store.attempt(claim, attempt)).granted);
    third!.mood = "well";
    second!.mood = mood;
    const { result, ms } = await after(clock, store.release(claim));
    assertEquals(result, true);
    assert(ms <= NODE_TIMEOUT, `${ms} ms`);
    const { result: next } = await after(clock, open().attempt(claimOf(), attempt));
    assert("granted" in next && next.granted);
  });
}

Deno.test("release() gives false when so many nodes have lost the lock that no majority held it", async () => {
  const { clock, nodes, store } = quorum(5);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  // Somebody has deleted it there, and one that may have kept it does not answer.
  for (const node of nodes.slice(0, 3)) node.release = () => Promise.resolve(false);
  nodes[4]!.mood = "failing";
  assertEquals((await after(clock, store.release(claim))).result, false);
});

Deno.test("release() rejects while a majority of the nodes fails, and succeeds as soon as one is back", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  for (const node of nodes.slice(1)) node.mood = "failing";
  const { result, ms } = await after(clock, store.release(claim));
  assert(result instanceof QuorumError && ms <= NODE_TIMEOUT, `${result} after ${ms} ms`);
  nodes[1]!.mood = "well";
  assertEquals((await after(clock, store.release(claim))).result, true);
  nodes[2]!.mood = "well";
  await clock.advance(2_000);
  assertEquals(nodes.flatMap((node) => node.names), []);
  assertEquals(clock.pending, 0);
});

Deno.test("release() does not wait for a node that hangs, which is free when it wakes", async () => {
  const { clock, nodes, store } = quorum(3);
  for (const frozen of nodes) {
    const claim = claimOf();
    assert((await store.attempt(claim, attempt)).granted);
    frozen.mood = "deaf";
    const { result, ms } = await after(clock, store.release(claim));
    assertEquals(result, true);
    assert(ms < NODE_TIMEOUT / 10, `${ms} ms`);
    // However long that takes: the call is not sent twice.
    await clock.advance(3 * LEASE);
    assertEquals(frozen.calls.filter((call) => call === "release").length, 1);
    assertEquals(clock.pending, 0);
    frozen.mood = "well";
    await settled();
    assertEquals(nodes.flatMap((node) => node.names), []);
    for (const node of nodes) node.calls.length = 0;
  }
});

const lateVotes: Record<string, { disturb: (node: FaultyNode) => void; releases: number }> = {
  "": { disturb: () => {}, releases: 1 },
  " that the release has overtaken": { disturb: (node) => node.reorder(), releases: 2 },
  " that a release has overtaken which was cut off": {
    disturb: (node) => {
      node.reorder();
      node.cut();
    },
    releases: 2,
  },
  " of a node that was cut off": { disturb: (node) => node.cut(), releases: 2 },
};

for (const [which, { disturb, releases }] of Object.entries(lateVotes)) {
  for (const session of [0, undefined]) {
    const where = session === undefined ? ", on a node that does anything twice" : "";
    Deno.test(`attempt() that is granted before all nodes have answered: a late vote${which} is given back${where}`, async () => {
      const { nodes, store } = quorum(3);
      const [, , late] = nodes;
      const claim = claimOf();
      late!.session = session;
      late!.mood = "deaf";
      assert((await store.attempt(claim, attempt)).granted);
      assertEquals(await store.release(claim), true);
      disturb(late!);
      late!.mood = "well";
      await settled();
      const again = session === undefined || releases === 2;
      assertEquals(late!.calls, ["vote", "release", ...again ? ["release"] : []]);
      assertEquals(nodes.flatMap((node) => node.names), []);
    });
  }
}

for (const keeps of [false, true]) {
  const by = keeps ? "of a later round that has kept its place" : "of the round";
  Deno.test(`Round.vote() that is the first of two on one node is given back when it comes after the release ${by}`, async () => {
    const { clock, nodes: [node] } = quorum(1);
    let round = new Round(new Nodes([node!], undefined, clock));
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
      assertEquals(await Promise.all(before.free(claim, 0)), [false]);
    }
    assertEquals(await Promise.all(round.free(claim, 0)), [true]);
    await node!.release(holder);
    late.resolve();
    assert((await first).granted);
    await settled();
    assertEquals(node!.names, []);
  });
}

Deno.test("release() frees what was won after more than two leases, although others have asked for locks meanwhile", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf("a", 10);
  for (const node of nodes) node.mood = "deaf";
  const attempted = store.attempt(claim, attempt);
  await clock.advance(30);
  for (const node of nodes) node.mood = "well";
  assert((await attempted).granted);
  const other = claimOf("b");
  assert((await store.attempt(other, attempt)).granted);
  assertEquals([await store.release(claim), await store.release(other)], [true, true]);
  await settled();
  assertEquals(nodes.flatMap((node) => node.names), []);
});

Deno.test("release() gives a slow coordinator a moment, so that whoever asks next finds it free", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  nodes[0]!.mood = "deaf";
  const released = store.release(claim).then(() => nodes[0]!.names);
  await clock.advance(5);
  nodes[0]!.mood = "well";
  assertEquals((await after(clock, released)).result, []);
});

Deno.test("release() that a majority hangs on rejects each time, until nothing can be left", async () => {
  const { clock, nodes, store } = quorum(3);
  const claim = claimOf();
  assert((await store.attempt(claim, attempt)).granted);
  for (const node of nodes.slice(1)) node.mood = "deaf";
  for (let tries = 0; tries < 3; tries++) {
    const { result } = await after(clock, store.release(claim));
    assert(result instanceof QuorumError, `${result}`);
  }
  for (const node of nodes) node.mood = "well";
  await clock.advance(2 * LEASE);
  assert((await store.attempt(claimOf("b"), attempt)).granted);
  assertEquals(await store.release(claim), false, "it is forgotten");
});

Deno.test("release() frees the nodes when the lease was lost because the answers to a renewal were", async () => {
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

Deno.test("attempt() takes twice the time of a node at the most, however many hang", async () => {
  const { clock, nodes, open, store } = quorum(5);
  const [holder, other] = [claimOf(), claimOf()];
  assert((await open().attempt(holder, attempt)).granted);
  assertEquals((await store.attempt(other, attempt)).granted, false, "the name is known to be contended");
  for (const node of nodes.slice(0, 3)) node.mood = "deaf";
  const { result, ms } = await after(clock, store.attempt(claimOf(), attempt));
  assert(result instanceof QuorumError, `${result}`);
  assert(ms <= 2 * NODE_TIMEOUT, `${ms} ms`);
});

Deno.test("attempt() asks the coordinator alone for a name that somebody on the same store asks for or holds", async () => {
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
  coordinator!.mood = "deaf";
  const { ms } = await after(clock, store.attempt(late, attempt));
  assertEquals(ms, 0, "all are asked at once when nobody is at it any more");
});

Deno.test("attempt() asks all nodes at once again when a holder has let its lease run out without a word", async () => {
  const { clock, nodes, store } = quorum(3);
  for (let i = 0; i < 3; i++) {
    assert((await store.attempt(claimOf("a", 1_000), attempt)).granted);
    await clock.advance(2_000);
  }
  nodes[0]!.mood = "deaf";
  assertEquals((await after(clock, store.attempt(claimOf(), attempt))).ms, 0);
});

Deno.test("attempt() that has the coordinator's vote gives the holder before a moment to release the other nodes", async () => {
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

Deno.test("attempt() of a contended name waits less and less often for a coordinator that hangs", async () => {
  const { clock, nodes, open, store } = quorum(3);
  assert((await open().attempt(claimOf(), attempt)).granted);
  nodes[0]!.mood = "deaf";
  assertEquals((await after(clock, store.attempt(claimOf(), attempt))).result, { granted: false, retryAfter: 13.5 });
  let waited = 0;
  for (let i = 0; i < 250; i++) {
    const { ms } = await after(clock, store.attempt(claimOf(), attempt));
    if (ms > 0) waited++;
    await clock.advance(100);
  }
  assert(waited <= 5, `${waited} times`);
});

Deno.test("a node that has answered late coordinates again", async () => {
  const { clock, nodes, open, store } = quorum(3);
  const [coordinator, second] = nodes;
  const holder = claimOf();
  assert((await open().attempt(holder, attempt)).granted);
  assertEquals((await store.attempt(claimOf(), attempt)).granted, false, "the name is known to be contended");
  coordinator!.mood = "deaf";
  await after(clock, store.attempt(claimOf(), attempt));
  coordinator!.mood = "well";
  await settled();
  const before = second!.calls.length;
  assertEquals((await store.attempt(claimOf(), attempt)).granted, false);
  assertEquals(second!.calls.length, before, "the coordinator alone was asked");
});

Deno.test("release() also frees a node that took the lock again meanwhile, and whose answer was lost", async () => {
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

Deno.test("release() gives up a place in the queue of a node that fails for longer than a short lease", async () => {
  const { clock, nodes, store } = quorum(3);
  assert((await store.attempt(claimOf("a", 60_000), attempt)).granted);
  const waiter = claimOf("a", 100);
  assertEquals((await store.attempt(waiter, { enqueue: true })).granted, false);
  nodes[0]!.mood = "failing";
  await after(clock, store.release(waiter));
  await clock.advance(5_000);
  nodes[0]!.mood = "well";
  const asked = nodes[0]!.calls.length;
  await clock.advance(2_000);
  assert(nodes[0]!.calls.slice(asked).includes("release"));
});
