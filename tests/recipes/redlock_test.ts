// Deno only: it starts servers.
import { assertEquals } from "@std/assert";
import type { Redis } from "ioredis";
import { RedisServer } from "../support/redis_server.ts";
import { Account } from "./account.ts";
import { deleteOwn } from "./delete_own.ts";
import { granted, type Held, holdfast, KEY, type LockClient, LONG } from "./lock_client.ts";

/** The steps of Redlock: SET NX PX on all nodes, a majority of them, and the time that it took. No fence. */
async function redlockSteps(nodes: readonly Redis[], lease: number): Promise<Held | null> {
  const id = crypto.randomUUID();
  const sentAt = performance.now();
  const votes = await Promise.allSettled(nodes.map((node) => node.set(KEY, id, "PX", lease, "NX")));
  const won = votes.filter((vote) => vote.status === "fulfilled" && vote.value === "OK").length;
  const validity = lease - (performance.now() - sentAt) - (lease / 100 + 2);
  const release = () => Promise.allSettled(nodes.map((node) => deleteOwn(node, KEY, id)));
  if (won > nodes.length / 2 && validity > 0) return { release };
  await release();
  return null;
}

/** What a schedule on three nodes ends with. */
interface Outcome {
  readonly holders: number;
  readonly balance: number;
}

/**
 * A cannot reach the third node, and has the votes of the others. The second node is started again, and has nothing on
 * disk. B asks, adds 50 and releases; then A writes what it had read and 10. No lease ends.
 */
async function nodeForgets(make: (nodes: Redis[]) => LockClient): Promise<Outcome> {
  await using first = await RedisServer.start();
  await using second = await RedisServer.start();
  await using third = await RedisServer.start();
  using account = new Account();
  const unreachable = third.connect();
  unreachable.disconnect();
  const a = await granted(make([first.connect(), second.connect(), unreachable]), LONG);
  const read = account.balance;
  await second.kill();
  await second.start();
  const b = await make([first, second, third].map((server) => server.connect()))(LONG);
  if (b !== null) account.write(account.balance + 50, b.fence);
  await b?.release();
  account.write(read + 10, a.fence);
  await a.release();
  return { holders: b === null ? 1 : 2, balance: account.balance };
}

Deno.test("redlockSteps() loses an update when a node has forgotten its vote", async () => {
  assertEquals(await nodeForgets((nodes) => (lease) => redlockSteps(nodes, lease)), { holders: 2, balance: 110 });
});

Deno.test("Lock.fence lets the account refuse a write when a node has forgotten its vote", async () => {
  assertEquals(await nodeForgets(holdfast), { holders: 2, balance: 150 });
});
