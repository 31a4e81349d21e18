import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { NodeRelease } from "../../../src/redlock/nodes/node_release.ts";
import type { QuorumNode } from "../../../src/contract/quorum_node.ts";
import { claimOf } from "../../support/claims.ts";
import { settled, VirtualClock } from "../../support/virtual_clock.ts";

/** A node that can only do what is given. */
function nodeOf(node: Partial<QuorumNode>): QuorumNode {
  return node as QuorumNode;
}

Deno.test("NodeRelease is retried after an error that may pass, and not after one for good", async () => {
  for (const error of [new Error("cut"), new StoreError("READONLY"), new StoreError("NOPERM", { permanent: true })]) {
    let tries = 0;
    const release = () => ++tries === 3 ? Promise.resolve(true) : Promise.reject(error);
    const clock = new VirtualClock();
    const { done } = new NodeRelease(
      nodeOf({ release }),
      claimOf("a"),
      clock,
      clock.now(),
    );
    const outcome = done.catch((reason: unknown) => reason);
    await clock.advance(50 + 100);
    const permanent = error instanceof StoreError && error.permanent;
    assertEquals([await outcome, tries], [permanent ? error : true, permanent ? 1 : 3]);
    assertEquals(clock.pending, 0);
  }
});

Deno.test("NodeRelease is retried while the lease or a place in the queue can last", async () => {
  for (
    const [lease, queueTimeout, limit] of [[1_000, undefined, 1_000], [1_000, 4_000, 4_000], [4_000, 1_000, 4_000]]
  ) {
    const clock = new VirtualClock();
    const node = { queueTimeout, release: () => Promise.reject(new Error("cut")) };
    const release = new NodeRelease(
      nodeOf(node),
      claimOf("a", "exclusive", lease),
      clock,
      clock.now(),
    );
    let rejected: number | undefined;
    release.done.catch(() => rejected = clock.now().monotonic - 1_000);
    while (rejected === undefined && clock.now().monotonic < 20_000) await clock.advance(10);
    // The pauses are a second at the most.
    assert(rejected !== undefined && limit! <= rejected && rejected <= limit! + 1_000, `after ${rejected} ms`);
  }
});

Deno.test("NodeRelease.answer() settles with the present try, and ends a pause at once", async () => {
  const tries: PromiseWithResolvers<boolean>[] = [];
  const release = () => {
    tries.push(Promise.withResolvers<boolean>());
    return tries.at(-1)!.promise;
  };
  const clock = new VirtualClock();
  const node = nodeOf({ release });
  const releasing = new NodeRelease(node, claimOf("a"), clock, clock.now());
  const first = releasing.answer();
  assertEquals(tries.length, 1);
  tries[0]!.reject(new Error("cut"));
  await assertRejects(() => first, Error, "cut");
  await settled();
  assertEquals([tries.length, clock.pending], [1, 1]);
  const second = releasing.answer();
  assertEquals([tries.length, clock.pending], [2, 0]);
  assertEquals(releasing.answer() === second, true);
  tries[1]!.resolve(true);
  assertEquals([await second, await releasing.done], [true, true]);
});
