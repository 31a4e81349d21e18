import { assertEquals } from "@std/assert";
import type { QuorumNode } from "../../src/contract/quorum_node.ts";
import { checkOptions } from "../../src/redlock/options.ts";
import { RedlockStore } from "../../src/redlock/store.ts";
import { claimOf } from "../support/claims.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

Deno.test("attempt() for a shared lock doubles the pause after each fence not confirmed", async () => {
  const clock = new VirtualClock();
  const asked: number[] = [];
  const node: Partial<QuorumNode> = {
    vote: () => {
      asked.push(clock.now().monotonic);
      return Promise.resolve({ granted: true, counter: 1n, raised: false });
    },
    confirm: () => Promise.resolve(false),
    release: () => Promise.resolve(true),
  };
  // Of each pause the longest one.
  const store = new RedlockStore([node as QuorumNode], checkOptions({}), clock, () => 1);
  const attempt = store.attempt(claimOf("a", "shared"), { enqueue: false });
  await clock.advance(1_000);
  assertEquals((await attempt).granted, false);
  assertEquals(asked.slice(1).map((at, i) => at - asked[i]!), [2, 4, 8, 16, 32]);
});
