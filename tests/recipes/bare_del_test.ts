// Deno only: it starts servers.
import { assert, assertEquals } from "@std/assert";
import { isLockLost } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { RedisServer } from "../support/redis_server.ts";
import { expired, granted, type Held, holdfast, KEY, LONG, type MakeClient, SHORT } from "./lock_client.ts";

/** SET NX PX, and DEL without a look at who holds the lock. */
async function bareDel(client: Redis, lease: number): Promise<Held | null> {
  if (await client.set(KEY, "locked", "PX", lease, "NX") === null) return null;
  return { release: () => client.del(KEY) };
}

/** A is paused past its lease, B is granted the lock, A releases late, C asks. Returns how many of B and C hold it. */
async function releasesLate(make: MakeClient): Promise<number> {
  await using server = await RedisServer.start();
  const [a, b, c] = [make(server.connect()), make(server.connect()), make(server.connect())];
  const late = await granted(a, SHORT);
  await expired(server);
  const holder = await granted(b, LONG);
  await late.release().catch((error: unknown) => assert(isLockLost(error), `${error}`));
  const second = await c(LONG);
  await second?.release();
  await holder.release();
  return second === null ? 1 : 2;
}

Deno.test("bareDel() deletes the lock of the next holder, and a third one is granted it", async () => {
  assertEquals(await releasesLate((client) => (lease) => bareDel(client, lease)), 2);
});

Deno.test("release() after the lease leaves the lock to the next holder", async () => {
  assertEquals(await releasesLate(holdfast), 1);
});
