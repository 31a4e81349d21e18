import { assert, assertEquals, assertRejects } from "@std/assert";
import type { ReleaseProgress } from "../../../src/redlock/nodes/node_release.ts";
import { Nodes } from "../../../src/redlock/nodes/nodes.ts";
import type { QuorumNode } from "../../../src/contract/quorum_node.ts";
import { claimOf } from "../../support/claims.ts";
import { settled, VirtualClock } from "../../support/virtual_clock.ts";

const TIMEOUT = 50;

/** Nodes that do only what a test has them do. */
function fixture(...nodes: Partial<QuorumNode>[]) {
  const clock = new VirtualClock();
  return { clock, nodes: new Nodes(nodes as QuorumNode[], TIMEOUT, clock) };
}

/** A release on a node that is answered like this. */
function progress(answer: Promise<boolean>): ReleaseProgress {
  return { done: answer, answer: () => answer };
}

const [yes, no, never] = [Promise.resolve(true), Promise.resolve(false), new Promise<never>(() => {})];

Deno.test("Nodes.single() gives a node that is connecting more time", async () => {
  const { clock, nodes } = fixture({ connecting: true }, { connecting: true }, {});
  const { promise, resolve } = Promise.withResolvers<string>();
  let answered: string | undefined;
  const single = nodes.single(claimOf("a"), 0, promise, true).then((value) => answered = value);
  await clock.advance(3 * TIMEOUT);
  assertEquals(answered, undefined);
  resolve("late");
  assertEquals(await single, "late");
  assertEquals(clock.pending, 0);
});

Deno.test("Nodes.single() rejects when the node fails, or is not in time", async () => {
  const { clock, nodes } = fixture({}, {}, {});
  await assertRejects(() => nodes.single(claimOf("a"), 0, Promise.reject(new Error("no"))), Error, "no");
  const late = assertRejects(() => nodes.single(claimOf("a"), 0, never), Error, `no answer within ${TIMEOUT} ms`);
  await clock.advance(TIMEOUT + 10);
  await late;
});

Deno.test("Nodes.released() waits for a slow coordinator, but not for one that was late", async () => {
  for (const [others, soon] of [[[yes, yes], false], [[yes, no], true]] as const) {
    const { clock, nodes } = fixture({}, {}, {});
    let resolved = false;
    const released = nodes.released(claimOf("a"), 0, [never, ...others].map(progress)).then((held) => {
      resolved = true;
      return held;
    });
    await settled();
    assertEquals(resolved, false);
    // Undecided without the coordinator, it takes that for failed at its time-out.
    for (let ms = 0; ms < TIMEOUT && !resolved; ms++) await clock.advance(1);
    assertEquals(clock.now().monotonic - 1_000 < 2 * 16, !soon, "a majority decides before that");
    await settled();
    assert(resolved, "without more ado");
    // Until then it is not known whether a slow one has failed.
    await clock.advance(TIMEOUT);
    assertEquals([await released, clock.pending], [true, 0]);
  }
});
