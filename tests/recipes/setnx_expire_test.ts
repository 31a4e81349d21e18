// Deno only: it starts servers, and breaks connections.
import { assertEquals, assertRejects } from "@std/assert";
import { tryAcquire } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { RedisServer } from "../support/redis_server.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { until } from "../support/until.ts";
import { type Held, holdfast, KEY, LONG, type MakeClient, SHORT } from "./lock_client.ts";

/** SETNX, then EXPIRE: two commands. */
async function setnxExpire(client: Redis, lease: number): Promise<Held | null> {
  if (await client.setnx(KEY, "locked") === 0) return null;
  await client.pexpire(KEY, lease);
  return { release: () => client.del(KEY) };
}

/**
 * A dies when the server has executed its first command for the lock. B asks when the lease of A is over, or if it has
 * none. Returns whether B is granted the lock.
 */
async function diesAfterFirstCommand(make: MakeClient): Promise<boolean> {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const a = proxy.connect({ maxRetriesPerRequest: 0, retryStrategy: () => null });
  const redis = server.connect();
  // So that the server knows the scripts of Holdfast, and the first command is executed.
  await (await tryAcquire(redis, "other"))?.release();
  const cut = proxy.loseReply(KEY);
  await assertRejects(() => make(a)(SHORT), Error);
  await cut;
  await until(async () => await redis.pttl(KEY) < 0, "the lease is over, or there is none");
  const b = await make(redis)(LONG);
  await b?.release();
  return b !== null;
}

Deno.test("setnxExpire() leaves the lock of a client that dies between its commands", async () => {
  assertEquals(await diesAfterFirstCommand((client) => (lease) => setnxExpire(client, lease)), false);
});

Deno.test("tryAcquire() leaves a lock that ends when the client dies after one command", async () => {
  assertEquals(await diesAfterFirstCommand(holdfast), true);
});
