// Deno only: it tries faults of a Cluster, of which the runtime knows nothing.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, StoreError } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { Cluster as Cluster6 } from "ioredis";
import { Cluster as Cluster5 } from "ioredis5";
import { lockKeys } from "../../src/stores/redis/keys/keys.ts";
import { HANG_MS, until } from "../support/until.ts";
import { ClusterDeployment } from "./cluster.ts";
import { code, waiters } from "./load.ts";

/** The keys of the lock "a". */
const [KEY, QUEUE, WAITERS] = lockKeys("lock:a");

/** How long the lock is leased, in milliseconds. */
const LEASE = 5_000;

Deno.test("ClusterDeployment moves slots, fails over, and loses the writes it is asked to", async () => {
  await using cluster = await ClusterDeployment.start();
  const client = cluster.connect();
  await client.set("a", "kept");
  const migration = await cluster.migrate("a");
  assertEquals(await client.get("a"), "kept");
  await migration.moveKeys("a");
  assertEquals(await client.get("a"), "kept", "the client was told whom to ask");
  await migration.finish();
  assertEquals((await cluster.masterOf("a")).id, migration.to.id);
  assertEquals(await client.get("a"), "kept");
  const [replica] = await cluster.replicasOf(migration.to);
  const copied = async () => await replica!.server.command("CLUSTER", "COUNTKEYSINSLOT", migration.slot) === 1;
  await until(copied, "the replica has the key");
  await cluster.cutReplication("a");
  await client.set("a", "lost");
  await migration.to.server.kill();
  assertEquals((await cluster.promoted("a", migration.to)).id, replica!.id);
  assertEquals(await client.get("a"), "kept");
  await migration.to.server.start();
  await cluster.ready();
  assertEquals((await cluster.failover("a")).id, migration.to.id);
});

Deno.test("acquire() serves 50 waiters in a Cluster although the held lock's slot moves", async () => {
  await using cluster = await ClusterDeployment.start();
  const { lock, served } = await contend(cluster);
  const migration = await cluster.migrate(KEY);
  await lock.extend();
  await migration.moveKeys(KEY);
  await lock.extend(); // Its key is with the new master, and its queue with the old one.
  await migration.moveKeys(QUEUE, WAITERS);
  await lock.extend();
  assert(lock.held, "through all of it");
  const releasing = lock.release();
  await migration.finish();
  await releasing;
  assertRise([lock.fence, ...await served]);
  assertEquals((await cluster.masterOf(KEY)).id, migration.to.id);
  await until(async () => (await cluster.leftovers()).length === 0, "nothing is left");
});

Deno.test("acquire() serves 50 waiters in a Cluster although the lock's master dies", async () => {
  await using cluster = await ClusterDeployment.start();
  const { lock, served } = await contend(cluster);
  await cluster.cutReplication(KEY);
  const waited = Promise.all([served, waiters([redis(cluster.connect())], 10, LEASE)]);
  const old = await cluster.masterOf(KEY);
  await until(async () => Number(await old.server.command("ZCARD", QUEUE)) === 60, "ten more are queued");
  await old.server.kill();
  await cluster.promoted(KEY, old);
  await until(async () => await code(lock.extend()) === undefined, "the client has found the new master", HANG_MS);
  await lock.release();
  const [fences, more] = await waited;
  assertRise([lock.fence, ...fences]);
  assertRise([lock.fence, ...more]);
  assertEquals(new Set([...fences, ...more]).size, 60, "no fence was issued twice");
  await until(async () => (await cluster.leftovers()).length === 0, "nothing is left");
});

for (const [version, Client] of Object.entries({ 5: Cluster5, 6: Cluster6 })) {
  Deno.test(`acquire() leaves no rejection when a slot's new master hangs, ioredis ${version}`, async () => {
    await using cluster = await ClusterDeployment.start({ replicas: 0 });
    const client = cluster.adopt(new Client(cluster.addresses, { redisOptions: { commandTimeout: 200 } }));
    const unhandled: unknown[] = [];
    const listener = (event: PromiseRejectionEvent) => {
      event.preventDefault();
      unhandled.push(event.reason);
    };
    globalThis.addEventListener("unhandledrejection", listener);
    try {
      await (await acquire(client, "a")).release();
      const migration = await cluster.migrate(KEY);
      await migration.moveKeys();
      migration.to.server.freeze();
      await assertRejects(() => acquire(client, "a", { wait: 500 }), StoreError, "timed out");
    } finally {
      globalThis.removeEventListener("unhandledrejection", listener);
    }
    assertEquals(unhandled, []);
  });
}

/** Has the lock held by one client, and 50 waiters of clients of all kinds in its queue. */
async function contend(cluster: ClusterDeployment) {
  const holder = cluster.connect();
  const clients = [
    cluster.connect({ scaleReads: "slave", enableAutoPipelining: true }),
    cluster.adopt(new Cluster5(cluster.addresses)),
  ];
  const lock = await acquire(holder, "a", { lease: 300_000, renew: 200 });
  const served = waiters(clients.map((client) => redis(client)), 50, LEASE);
  await until(async () => await holder.zcard(QUEUE) === 50, "all are queued");
  return { lock, served };
}

function assertRise(fences: readonly bigint[]): void {
  assert(fences.every((fence, i) => i === 0 || fence > fences[i - 1]!), `${fences} rise`);
}
