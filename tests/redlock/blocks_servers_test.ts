import { assert, assertEquals } from "@std/assert";
import { redlock } from "@holdfast/lock/redlock";
import type { Claim, Store } from "../../src/contract/store.ts";
import { Masters } from "../support/masters.ts";
import { claimOf, LONG } from "../support/claims.ts";
import { until } from "../support/until.ts";

interface Range {
  readonly start: bigint;
  readonly end: bigint;
}

/** Attempts until the lock is granted, as a waiter does; returns its block. */
async function acquired(store: Store, claim: Claim): Promise<Range> {
  for (;;) {
    const attempt = await store.attempt(claim, { enqueue: true });
    if (attempt.granted) return { start: attempt.fence, end: attempt.fence + BigInt(attempt.fences ?? 1) - 1n };
    const asleep = new AbortController();
    const timer = setTimeout(() => asleep.abort(), "retryAfter" in attempt ? attempt.retryAfter : 0);
    await store.wakeup!(claim, asleep.signal);
    clearTimeout(timer);
    asleep.abort();
  }
}

/** Fails unless each block, in the order in which they were granted, is above the one before. */
function assertRising(blocks: readonly Range[]): void {
  let last = 0n;
  for (const { start, end } of blocks) {
    assert(start > last && end >= start, `${start} to ${end} follows ${last}`);
    last = end;
  }
}

Deno.test("redlock() gives stores that contend for a lock blocks that do not overlap", async () => {
  await using masters = await Masters.start(3);
  const blocks: Range[] = [];
  const contend = async (fences: number) => {
    const store = redlock(await masters.connect(), { nodeTimeout: LONG });
    for (let times = 0; times < 20; times++) {
      const claim = { ...claimOf("a"), fences };
      blocks.push(await acquired(store, claim));
      assertEquals(await store.release(claim), true);
    }
  };
  await Promise.all([1, 500, 10_000].map(contend));
  assertEquals(blocks.length, 60);
  assertRising(blocks);
  assert(blocks.some(({ start, end }) => end > start), "some have several fences");
});

Deno.test("redlock() gives a block above that of a holder that died with most of it unused", async () => {
  await using masters = await Masters.start(3);
  const dead = { ...claimOf("a", "exclusive", 300), fences: 10_000 };
  const first = await acquired(redlock(await masters.connect(), { nodeTimeout: LONG }), dead);
  const store = redlock(await masters.connect(), { nodeTimeout: LONG });
  const blocks = [first];
  await until(async () => {
    const claim = { ...claimOf("a"), fences: 100 };
    const attempt = await store.attempt(claim, { enqueue: false });
    if (attempt.granted) blocks.push({ start: attempt.fence, end: attempt.fence + BigInt(attempt.fences ?? 1) - 1n });
    return attempt.granted;
  }, "the lock is granted when the lease of the dead holder is over");
  assertRising(blocks);
});
