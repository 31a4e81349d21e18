import { assertEquals } from "@std/assert";
import type { Claim } from "@holdfast/lock";
import { attempt } from "../../../src/stores/redis/commands/attempt.ts";
import { vote } from "../../../src/stores/redis/commands/quorum.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { claimOf, LONG } from "../../support/claims.ts";
import { after, START } from "./after.ts";
import { counterAt } from "./counter.ts";
import { testOnServer } from "./on_server.ts";

const [LOCK] = lockKeys("lock:a");

/** How far ahead of the server's clock a guess may be, in milliseconds. */
const SKEW = 60_000;

testOnServer("vote() raises the counter unless the guess is too far ahead of the clock", async ({ client, store }) => {
  const [seconds = 0, microseconds = 0] = await client.time();
  const now = BigInt(seconds) * 1_000_000n + BigInt(microseconds);
  const vote = async (ahead: number) => {
    const claim = claimOf("a");
    const guess = now + BigInt(ahead) * 1_000n;
    const vote = await store.vote(claim, { enqueue: false, guess, maxClockSkew: SKEW });
    await store.release(claim);
    return { vote, guess };
  };
  const first = await vote(0);
  assertEquals(first.vote, { granted: true, counter: first.guess, raised: true });
  const far = await vote(2 * SKEW);
  assertEquals(far.vote, { granted: true, counter: first.guess, raised: false });
  const near = await vote(SKEW / 2);
  assertEquals(near.vote, { granted: true, counter: near.guess, raised: true });
});

testOnServer("retake() raises a counter below the fence, and lowers none above it", async ({ client, store }) => {
  const claim = claimOf("a");
  const fence = 1_700_000_000_000_000n;
  for (const counter of [0n, fence - 1n, fence, fence + 1n]) {
    const raised = counter > fence ? counter : fence;
    if (counter > 0n) await client.set("{lock:a}:fence", `${counter}`);
    // A repeat that comes late changes nothing.
    for (let times = 0; times < 2; times++) {
      assertEquals(await store.retake(claim, fence, counter), true);
      assertEquals(await store.inspect(claim), { state: "held", counter: raised });
    }
    await store.release(claim);
    assertEquals(await counterAt(client, "{lock:a}:fence"), `${raised}`);
    await client.flushall();
  }
});

testOnServer("vote() that is refused says how long the lock was held, if nobody is ahead", async ({ client }) => {
  const waiter = { address: "!holdfast:nobody", ticket: "" };
  const ask = async (ms: number, claim: Claim, queued: boolean, pttl?: number) => {
    const input = { claim, guess: BigInt(START) * 1_000n, maxClockSkew: SKEW, waiter: queued ? waiter : undefined };
    const reply = await after(ms, client, vote, input, pttl);
    return reply.granted ? "granted" : reply.heldFor;
  };
  const exclusive = claimOf("a", "exclusive", LONG);
  assertEquals(await ask(0, exclusive, false), "granted");
  const [first, second, third] = [claimOf("a"), claimOf("a"), claimOf("a")];
  assertEquals(await ask(700, first, false), 700, "nobody waits");
  assertEquals(await ask(-700, first, false), 0, "the clock was set back");
  assertEquals(await ask(800, first, true), 800);
  assertEquals(await ask(900, second, false), undefined, "the first one waits");
  assertEquals(await ask(900, second, true), undefined);
  assertEquals(await ask(1_000, first, true), 1_000);
  // The first one is dead: it has not asked for 15 s.
  assertEquals(await ask(15_999, second, true), undefined);
  assertEquals(await ask(16_000, second, true), 16_000);
  assertEquals(await ask(16_000, first, true), undefined, "it has lost its place");
  // A lock that is kept for a waiter, which has yet to claim it, has no record.
  await client.set(LOCK, third.owner, "PX", 1_500);
  assertEquals(await ask(17_000, second, true, 1_500), 0);
  assertEquals(await ask(17_000, second, true, 1_501), Infinity);
  await client.set(LOCK, "rival");
  assertEquals(await ask(17_000, second, true), Infinity);
  await client.flushall();
  // Of several who share it the last one counts, wherever its record is.
  assertEquals(await ask(0, claimOf("a", "shared", LONG), false), "granted");
  assertEquals(await ask(500, first, false), 500);
  assertEquals(await ask(600, claimOf("a", "shared", LONG / 2), false), "granted");
  assertEquals(await ask(1_000, first, false), 400);
  await client.flushall();
  // What could never be granted beside the present holders is refused as a conflict, and not queued.
  await after(0, client, attempt, { claim: claimOf("a", 2, LONG) });
  assertEquals(await ask(500, first, false), 500);
});
