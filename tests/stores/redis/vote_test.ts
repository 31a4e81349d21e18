import { assertEquals } from "@std/assert";
import { RedisServer } from "../../support/redis_server.ts";
import { claimOf } from "../../support/claims.ts";
import { counterAt } from "./counter.ts";
import { serverStore } from "../../support/server_store.ts";

/** How far ahead of the server's clock a guess may be, in milliseconds. */
const SKEW = 60_000;

Deno.test("vote() raises the counter unless the guess is too far ahead of the clock", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = serverStore(client);
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

Deno.test("retake() raises a counter below the fence, and lowers none above it", async () => {
  await using server = await RedisServer.start();
  const client = server.connect();
  const store = serverStore(client);
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
