import { assertEquals } from "@std/assert";
import type { Claim } from "@holdfast/lock";
import { NodeVote } from "../../../src/redlock/nodes/node_vote.ts";
import { Nodes } from "../../../src/redlock/nodes/nodes.ts";
import { checkOptions } from "../../../src/redlock/options.ts";
import type { QuorumNode, Vote } from "../../../src/contract/quorum_node.ts";
import { RedlockStore } from "../../../src/redlock/store.ts";
import { claimOf } from "../../support/claims.ts";
import { settled, VirtualClock } from "../../support/virtual_clock.ts";

/** A node that notes under which ids it is asked and released; its votes are answered by a test. */
function voter(log: string[]) {
  const votes: PromiseWithResolvers<Vote>[] = [];
  const node = {
    vote: ({ owner }: Claim) => {
      log.push(`vote ${owner}`);
      votes.push(Promise.withResolvers<Vote>());
      return votes.at(-1)!.promise;
    },
    release: ({ owner }: Claim) => {
      log.push(`release ${owner}`);
      return Promise.resolve(true);
    },
  };
  return { node: node as Partial<QuorumNode> as QuorumNode, votes };
}

const OPTIONS = { enqueue: true, guess: 1n, maxClockSkew: 0 };

Deno.test("NodeVote.leaveQueue() releases the place, and changes the id", async () => {
  for (const again of [false, true]) {
    const log: string[] = [];
    const { node, votes } = voter(log);
    const clock = new VirtualClock();
    const nodes = new Nodes([node], undefined, clock);
    const vote = new NodeVote(nodes, 0, "one");
    const asked = vote.ask(claimOf("a"), OPTIONS);
    votes[0]!.resolve({ granted: false, retryAfter: 1 });
    await asked;
    await settled();
    vote.leaveQueue(claimOf("a"), "two");
    if (again) void vote.ask(claimOf("a"), OPTIONS);
    await vote.release(claimOf("a"), clock.now()).done;
    // It was not asked under the second id, or has nothing under the first one any more.
    assertEquals(log, ["vote one", "release one", ...(again ? ["vote two", "release two"] : [])]);
  }
});

Deno.test("NodeVote.release() sends nothing where none was asked, and frees later votes", async () => {
  const log: string[] = [];
  const { node, votes } = voter(log);
  const clock = new VirtualClock();
  const nodes = new Nodes([node], undefined, clock);
  const vote = new NodeVote(nodes, 0, "one");
  for (let i = 0; i < 2; i++) assertEquals(await vote.release(claimOf("a"), clock.now()).done, false);
  assertEquals(log, []);
  void vote.ask(claimOf("a"), OPTIONS);
  votes[0]!.resolve({ granted: true, counter: 1n, raised: true });
  await settled();
  assertEquals([log, vote.counter], [["vote one", "release one"], undefined]);
});

Deno.test("RedlockStore.release() is false while an attempt has come to nothing yet", async () => {
  const log: string[] = [];
  const { node, votes } = voter(log);
  const clock = new VirtualClock();
  const settings = checkOptions({});
  const store = new RedlockStore([node], settings, clock, () => 0.5);
  const claim = claimOf("a");
  const attempt = store.attempt(claim, { enqueue: false });
  assertEquals(await store.release(claim), false);
  votes[0]!.resolve({ granted: true, counter: 1n, raised: true });
  await attempt;
  await settled();
  const ids = log.map((line) => line.split(" ")[1]);
  assertEquals([log.map((line) => line.split(" ")[0]), new Set(ids).size], [["vote", "release", "release"], 1]);
});
