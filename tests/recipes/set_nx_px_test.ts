// Deno only: it starts servers.
import { assertEquals } from "@std/assert";
import type { Redis } from "ioredis";
import { RedisServer } from "../support/redis_server.ts";
import { Account } from "./account.ts";
import { deleteOwn } from "./delete_own.ts";
import { expired, granted, type Held, holdfast, KEY, LONG, type MakeClient, SHORT } from "./lock_client.ts";

/** SET NX PX with a value of its own, which is compared before the DEL: all but a fence. */
async function setNxPx(client: Redis, lease: number): Promise<Held | null> {
  const id = crypto.randomUUID();
  if (await client.set(KEY, id, "PX", lease, "NX") === null) return null;
  return { release: () => deleteOwn(client, KEY, id) };
}

/**
 * A reads the balance, and is paused past its lease. B adds 50. A writes what it had read and 10. Returns the balance.
 */
async function writesLate(make: MakeClient): Promise<number> {
  await using server = await RedisServer.start();
  using account = new Account();
  const [a, b] = [make(server.connect()), make(server.connect())];
  const early = await granted(a, SHORT);
  const read = account.balance;
  await expired(server);
  const late = await granted(b, LONG);
  account.write(account.balance + 50, late.fence);
  await late.release();
  account.write(read + 10, early.fence);
  return account.balance;
}

Deno.test("setNxPx() loses an update when a holder writes after its lease", async () => {
  assertEquals(await writesLate((client) => (lease) => setNxPx(client, lease)), 110);
});

Deno.test("Lock.fence lets the account refuse a write that comes after the lease", async () => {
  assertEquals(await writesLate(holdfast), 150);
});
