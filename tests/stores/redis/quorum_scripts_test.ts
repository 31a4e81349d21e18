import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Claim, StoreError } from "@holdfast/lock";
import { attempt } from "../../../src/stores/redis/commands/attempt.ts";
import { confirm, inspect, retake, vote } from "../../../src/stores/redis/commands/quorum.ts";
import { FENCE_TTL_MS, MAX_FENCE } from "../../../src/stores/redis/constants.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { claimOf, LONG } from "../../support/claims.ts";
import { after, holder, START } from "./after.ts";
import { counterAt } from "./counter.ts";
import { testOnServer } from "./on_server.ts";

const [LOCK, , , , , FENCE] = lockKeys("lock:a");

/** The fence of a lock that is granted at the start. */
const FIRST = BigInt(START) * 1_000n;

testOnServer("confirm() raises the counter to a higher fence only, and for a holder only", async ({ client }) => {
  const claim = claimOf("a");
  const cases: [counter: string | undefined, fence: bigint, confirmed: boolean][] = [
    [undefined, 1n, true],
    ["6", 7n, true],
    ["7", 7n, false],
    ["8", 7n, false],
    ["rival", 1n, true],
    ["7", BigInt(MAX_FENCE), true],
  ];
  for (const [counter, fence, confirmed] of cases) {
    await after(0, client, attempt, { claim });
    await client.del(FENCE);
    if (counter !== undefined) await client.set(FENCE, counter);
    assertEquals(await after(0, client, confirm, { claim: claimOf("a"), fence }), false, "not the holder");
    assertEquals(await counterAt(client, FENCE), counter ?? null);
    assertEquals(await after(0, client, confirm, { claim, fence }), confirmed, `${counter}, ${fence}`);
    assertEquals(await counterAt(client, FENCE), confirmed ? `${fence}` : counter);
    await client.flushall();
  }
});

testOnServer("vote() raises a counter below a block to its end, and no counter within it", async ({ client }) => {
  const [guess, end] = [FIRST, FIRST + 9n];
  const cases: [counter: bigint | undefined, raised: boolean][] = [
    [undefined, true],
    [guess - 1n, true],
    [guess, false],
    [end - 1n, false],
    [end, false],
    [end + 1n, false],
  ];
  for (const [counter, raised] of cases) {
    if (counter !== undefined) await client.set(FENCE, `${counter}`);
    const claim = claimOf("a");
    const reply = await after(0, client, vote, { claim, guess, end, maxClockSkew: LONG });
    assertEquals(reply, { granted: true, counter: raised ? end : counter!, raised }, `${counter}`);
    assertEquals(await counterAt(client, FENCE), `${raised ? end : counter}`);
    await client.flushall();
  }
});

testOnServer("vote() keeps the end of a block until 7 days after the server's clock is there", async ({ client }) => {
  const end = BigInt(START + LONG) * 1_000n;
  await after(0, client, vote, { claim: claimOf("a"), guess: FIRST, end, maxClockSkew: LONG });
  assertEquals(await counterAt(client, FENCE), `${end}`);
  assert(await client.pttl(FENCE) > FENCE_TTL_MS + LONG / 2, "it counts from then on");
});

testOnServer("confirm() raises a counter below a block to its end, and no counter within it", async ({ client }) => {
  const [fence, end] = [FIRST, FIRST + 9n];
  for (const [counter, confirmed] of [[fence - 1n, true], [fence, false], [end - 1n, false], [end, false]] as const) {
    const claim = claimOf("a");
    await after(0, client, attempt, { claim });
    await client.set(FENCE, `${counter}`);
    assertEquals(await after(0, client, confirm, { claim, fence, end }), confirmed, `${counter}`);
    assertEquals(await counterAt(client, FENCE), `${confirmed ? end : counter}`);
    await client.flushall();
  }
});

testOnServer("confirm() of a block that ends above 2^53 - 1 rejects, and raises nothing", async ({ client }) => {
  const claim = claimOf("a");
  await after(0, client, attempt, { claim });
  await client.set(FENCE, "7");
  const [fence, end] = [BigInt(MAX_FENCE), BigInt(MAX_FENCE) + 1n];
  await assertRejects(() => after(0, client, confirm, { claim, fence, end }), StoreError, "the last fence is 7,");
  assertEquals(await counterAt(client, FENCE), "7");
});

testOnServer("confirm() of a fence above 2^53 - 1 rejects with the last one", async ({ client }) => {
  const claim = claimOf("a");
  await after(0, client, attempt, { claim });
  for (const [counter, last] of [["7", "7"], [undefined, "0"]] as const) {
    await client.del(FENCE);
    if (counter !== undefined) await client.set(FENCE, counter);
    const refused = () => after(0, client, confirm, { claim, fence: BigInt(MAX_FENCE) + 1n });
    await assertRejects(refused, StoreError, `the last fence is ${last},`);
  }
});

testOnServer("inspect() tells whether a lock is held, free to take or share, or taken", async ({ client }) => {
  const [exclusive, shared, permit] = [claimOf("a"), claimOf("a", "shared"), claimOf("a", 2)];
  const cases: [holders: Claim[], asked: Claim, state: string][] = [
    [[], exclusive, "free"],
    [[exclusive], exclusive, "held"],
    [[exclusive], shared, "taken"],
    [[claimOf("a")], exclusive, "taken"],
    [[shared], shared, "held"],
    [[shared], exclusive, "taken"],
    [[claimOf("a", "shared")], shared, "free"],
    [[claimOf("a", "shared"), claimOf("a", "shared")], shared, "free"],
    [[claimOf("a", "shared"), claimOf("a", "shared")], exclusive, "taken"],
    [[claimOf("a", 2)], permit, "taken"],
    [[claimOf("a", 2)], shared, "taken"],
  ];
  for (const [holders, asked, state] of cases) {
    for (const claim of holders) await after(0, client, attempt, { claim });
    assertEquals((await after(0, client, inspect, asked)).state, state, JSON.stringify([holders, asked]));
    await client.flushall();
  }
});

testOnServer("inspect() tells the counter, which is 0 when it is lost or a rival's", async ({ client }) => {
  const claim = claimOf("a");
  await after(0, client, attempt, { claim });
  const counters = [];
  for (const counter of [undefined, "7", "rival"]) {
    await client.del(FENCE);
    if (counter !== undefined) await client.set(FENCE, counter);
    for (const asked of [claim, claimOf("a")]) counters.push((await after(0, client, inspect, asked)).counter);
  }
  assertEquals(counters, [0n, 0n, 7n, 7n, 0n, 0n]);
});

testOnServer("retake() is refused unless the counter is what it was", async ({ client }) => {
  for (const [present, counter, retaken] of [["8", 7n, false], ["6", 7n, false], ["rival", 0n, true]] as const) {
    await client.set(FENCE, present);
    const claim = claimOf("a");
    assertEquals(await after(0, client, retake, { claim, fence: 7n, counter }), retaken, present);
    assertEquals(await client.get(LOCK), retaken ? claim.owner : null);
    assertEquals(await counterAt(client, FENCE), retaken ? "7" : present);
  }
});

testOnServer("retake() of a holder depends on the counter, and changes nothing", async ({ client }) => {
  const claim = claimOf("a");
  await after(0, client, attempt, { claim });
  const replies = [];
  for (const counter of [FIRST, FIRST + 1n, FIRST - 1n]) {
    replies.push(await after(0, client, retake, { claim: { ...claim, lease: 2 * LONG }, fence: FIRST, counter }));
  }
  assertEquals(replies, [true, false, true]);
  assertEquals(await client.pttl(LOCK) <= LONG, true);
  assertEquals(await counterAt(client, FENCE), `${FIRST}`);
});

testOnServer("retake() fits beside the holders whose leases have not ended", async ({ client }) => {
  for (const kind of ["exclusive", "shared", 1] as const) {
    for (const [ms, fits] of [[LONG - 1, kind === "shared"], [LONG, true]] as const) {
      await after(0, client, attempt, { claim: holder(LONG, kind === "exclusive" ? "shared" : kind) });
      const input = { claim: claimOf("a", kind), fence: FIRST, counter: FIRST };
      assertEquals(await after(ms, client, retake, input), fits, `${kind} after ${ms} ms`);
      await client.flushall();
    }
    await after(0, client, attempt, { claim: claimOf("a", "shared") });
    const input = { claim: claimOf("a", kind), fence: FIRST, counter: FIRST };
    assertEquals(await after(0, client, retake, input), kind === "shared", `${kind} beside a sole holder`);
    await client.flushall();
  }
});
