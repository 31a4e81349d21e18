// Deno only: it stops the clock of the server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Claim, StoreError } from "@holdfast/lock";
import { attempt } from "../../../src/stores/redis/commands/attempt.ts";
import { release } from "../../../src/stores/redis/commands/holder.ts";
import { FENCE_TTL_MS } from "../../../src/stores/redis/constants.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { ask, claimOf, grant } from "../../support/claims.ts";
import { ProcessClock } from "../../support/process_clock.ts";
import { RedisServer } from "../../support/redis_server.ts";
import { after, START } from "./after.ts";
import { counterAt } from "./counter.ts";
import { subscribed } from "./wakeups/subscribed.ts";
import { serverStore } from "../../support/server_store.ts";
import { testClean, testOnServer } from "./on_server.ts";

const KEYS = lockKeys("lock:a");
const FENCE = KEYS[5];

/** The fence that the clock gives at the start of each test. */
const FIRST = BigInt(START) * 1_000n;

testOnServer("attempt() reserves a block of fences, and leaves the counter at its end", async ({ client }) => {
  const claim = block(5);
  const first = await after(0, client, attempt, { claim });
  assertEquals(first, { granted: true, fence: FIRST, fences: 5, contended: false });
  assertEquals(await counterAt(client, FENCE), `${FIRST + 4n}`);
  // A repeated attempt: the reply to the first may have been lost, or not.
  const again = await after(0, client, attempt, { claim });
  assertEquals(again, { granted: true, fence: FIRST + 5n, fences: 5, contended: false });
  assertEquals(await counterAt(client, FENCE), `${FIRST + 9n}`);
  await after(0, client, release, claim);
  const next = await after(0, client, attempt, { claim: claimOf("a") });
  assertEquals(next, { granted: true, fence: FIRST + 10n });
});

testOnServer("attempt() reserves no fence further than 10 ms ahead of the clock but the first", async ({ client }) => {
  const cases = [
    [undefined, 50_000, 0n, 10_001],
    [undefined, 10_001, 0n, 10_001],
    [-1n, 7, 0n, 7],
    [0n, 3, 1n, 3],
    [3_999n, 50_000, 4_000n, 6_001],
    [9_998n, 2, 9_999n, 2],
    [9_998n, 3, 9_999n, 2],
    [9_999n, 3, 10_000n, 1],
    [10_000n, 3, 10_001n, 1],
    [1_000_000_000n, 3, 1_000_000_001n, 1],
    // There is no fence above 2^53 - 1.
    [2n ** 53n - 2n - FIRST, 3, 2n ** 53n - 1n - FIRST, 1],
  ] as const;
  for (const [last, wish, first, fences] of cases) {
    if (last !== undefined) await client.set(FENCE, `${FIRST + last}`);
    const reply = await after(0, client, attempt, { claim: block(wish) });
    assert(reply.granted);
    assertEquals([reply.fence, reply.fences], [FIRST + first, fences], `${wish} after ${last}`);
    assertEquals(await counterAt(client, FENCE), `${reply.fence + BigInt(reply.fences!) - 1n}`, "the counter");
    assertEquals(reply.contended, false);
    await client.flushall();
  }
});

Deno.test("attempt() keeps the end of a block until 7 days after the clock has reached it", async () => {
  using clock = await ProcessClock.make();
  clock.stop(START * 1_000);
  await using server = await RedisServer.start([], clock.env);
  const client = server.connect();
  for (const [last, wish, ahead] of [[0n, 10_001, 10], [0n, 2, 10], [4_000n, 10_001, 10], [0n, 1, 0]] as const) {
    await client.set(FENCE, `${last === 0n ? 0n : FIRST + last}`);
    await grant(serverStore(client), block(wish));
    assertEquals(await client.pttl(FENCE), FENCE_TTL_MS + ahead, `${wish} after ${last}`);
    await client.flushall();
  }
});

testClean("attempt() for a block says whether others are left waiting", async ({ client, store }) => {
  await subscribed(client);
  const [holder, head, next] = [claimOf("a"), block(3), claimOf("a")];
  await grant(store, holder);
  for (const claim of [head, next]) await ask(store, claim);
  await store.release(holder);
  const seen = [];
  for (const leave of [false, true]) {
    if (leave) await store.release(next);
    const reply = await store.attempt(head, { enqueue: true });
    seen.push(reply.granted && [reply.fences, reply.contended]);
  }
  assertEquals(seen, [[3, true], [3, false]]);
  assert(await store.release(head), "released");
});

testOnServer("attempt() holds nothing when the end of its block cannot be written", async ({ client }) => {
  await client.hset(FENCE, "mine", 1);
  await assertRejects(() => serverStore(client).attempt(block(5), { enqueue: true }), StoreError, "WRONGTYPE");
  assertEquals(await client.keys("*"), [FENCE]);
  assertEquals(await client.hgetall(FENCE), { mine: "1" });
});

Deno.test("attempt.encode() sends a wish for fences only of exclusive fresh owners", () => {
  const waiter = { address: "!holdfast:x", ticket: "7" };
  const encode = (claim: Claim, steal?: string[]) => attempt.encode(KEYS, { claim, waiter, steal }).args.slice(1);
  assertEquals(encode(block(9)), ["60000", "", "!holdfast:x", "", "7", "", "9"]);
  assertEquals(encode(block(1)), ["60000", "", "!holdfast:x", "", "7"]);
  const others = [claimOf("a", "shared"), claimOf("a", 2), claimOf("a", "exclusive", undefined, "me")];
  for (const claim of others) assertEquals(encode({ ...claim, fences: 9 }), encode(claim));
  assertEquals(encode(block(9), ["digest"]), encode(block(1), ["digest"]));
  assertEquals(attempt.encode(KEYS, { claim: block(9) }).args.slice(1), ["60000", "", "", "", "", "", "9"]);
});

function block(fences: number): Claim {
  return { ...claimOf("a"), fences };
}
