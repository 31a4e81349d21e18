import { assertEquals } from "@std/assert";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import { claimOf } from "../../support/claims.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

/** How far the end of a block may be ahead of the clock, in milliseconds. */
const SKEW = 1_000;

Deno.test("MemoryStore.vote() raises to an end as far ahead as allowed, no further", async () => {
  for (const [beyond, raised] of [[0n, true], [1n, false]] as const) {
    const clock = new VirtualClock();
    const end = BigInt(clock.now().wall + SKEW) * 1_000n + beyond;
    const store = new MemoryStore(undefined, clock);
    const vote = await store.vote(claimOf("a"), { enqueue: false, guess: end - 999n, end, maxClockSkew: SKEW });
    assertEquals(vote, { granted: true, counter: raised ? end : 0n, raised });
  }
});
