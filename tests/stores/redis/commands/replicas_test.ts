// Deno only: it tries replicas, of which the runtime knows nothing.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, isLockLost, LockLostError, StoreError, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { ClusterDeployment } from "../../../deployments/cluster.ts";
import { cutReplication, FOLLOWING, inStep, mendReplication } from "../../../deployments/replicated.ts";
import { HANG_MS, until } from "../../../support/until.ts";
import { RedisServer } from "../../../support/redis_server.ts";
import { testOnServer } from "../on_server.ts";

/** What the stores of these tests want. */
const REPLICAS = { min: 1, timeout: 500 };

/** A master and its replica. */
async function start(stack: AsyncDisposableStack): Promise<[master: RedisServer, replica: RedisServer]> {
  const master = stack.use(await RedisServer.start(FOLLOWING));
  const replica = stack.use(await RedisServer.start([...FOLLOWING, "--replicaof", "127.0.0.1", `${master.port}`]));
  await until(() => inStep(replica), "the replica is in step");
  // From then on the master counts it.
  await until(async () => Number(await master.command("WAIT", 1, 100)) === 1, "the master knows it");
  return [master, replica];
}

Deno.test("redis() with replicas releases a grant that they do not get", async () => {
  await using stack = new AsyncDisposableStack();
  const [master, replica] = await start(stack);
  const store = redis(master.connect(), { replicas: REPLICAS });
  const lock = await acquire(redis(master.connect(), { replicas: { min: 1, timeout: HANG_MS } }), "a");
  assertEquals(await replica.command("GET", "lock:a"), lock.owner);
  await lock.extend();
  await lock.release();
  await cutReplication(master);
  for (const ask of [acquire, tryAcquire]) {
    await assertRejects(() => ask(store, "a"), StoreError, "fewer than 1 replicas");
  }
  const claim = { name: "a", owner: "me", mode: "exclusive", lease: 60_000 } as const;
  await assertRejects(() => store.attempt(claim, { enqueue: true }), StoreError);
  assertEquals(await master.leftovers(), [], "undone by the store itself");
  await mendReplication(master);
  await until(() => inStep(replica), "the replica is in step again");
  const next = await acquire(store, "a");
  assert(next.fence > lock.fence);
  await next.release();
});

testOnServer("redis() with replicas releases a grant if the server refuses to wait for them", async ({ server }) => {
  await server.command("ACL", "SETUSER", "default", "-wait");
  const store = redis(server.connect(), { replicas: REPLICAS });
  const claim = { name: "a", owner: "me", mode: "exclusive", lease: 60_000 } as const;
  const error = await assertRejects(() => store.attempt(claim, { enqueue: true }), StoreError, "wait");
  assertEquals([error.permanent, await server.leftovers()], [true, []], "a StoreError says that nothing was done");
  const refused = await assertRejects(() => acquire(store, "a"), StoreError);
  assertEquals([refused.permanent, await server.leftovers()], [true, []]);
});

Deno.test("redis() with replicas serves its waiters when replicas are back", async () => {
  await using stack = new AsyncDisposableStack();
  const [master, replica] = await start(stack);
  const client = master.connect();
  const store = redis(master.connect(), { replicas: REPLICAS });
  const lock = await acquire(store, "a", { lease: 60_000 });
  const served: number[] = [];
  const waiting = [];
  for (let i = 0; i < 3; i++) {
    waiting.push(
      acquire(store, "a", { lease: 60_000 }).then(async (lock) => {
        served.push(i);
        await lock.release();
      }),
    );
    await until(async () => await client.zcard("{lock:a}:queue") === i + 1, `waiter ${i} is queued`);
  }
  await cutReplication(master);
  const before = await calls(client, "wait");
  await lock.release();
  await until(async () => (await calls(client, "wait")) - before >= 2, "grants have been undone");
  assertEquals(served, []);
  await mendReplication(master);
  await until(() => inStep(replica), "the replica is in step again");
  await Promise.all(waiting);
  assertEquals(served.length, 3);
  await until(async () => (await master.leftovers()).length === 0, "nothing is left");
});

Deno.test("Lock ends at the deadline that its replicas have, if no renewal reaches them", async () => {
  await using stack = new AsyncDisposableStack();
  const [master, replica] = await start(stack);
  const store = redis(master.connect(), { replicas: REPLICAS });
  const lock = await acquire(store, "a", { lease: 4_000, renew: 100 });
  await cutReplication(master);
  await assertRejects(() => lock.extend(), StoreError);
  assert(lock.held, "for the time that the replica knows of");
  await until(() => lock.signal.aborted, "the lock is lost");
  assert(isLockLost(lock.signal.reason));
  assertEquals(await replica.command("PTTL", "lock:a").then((left) => Number(left) < 500), true, "there as well");
  await assertRejects(() => lock.release(), LockLostError);
});

Deno.test("redis() with replicas waits for those of the lock's slot in a Cluster", async () => {
  await using cluster = await ClusterDeployment.start();
  const key = "lock:a";
  const client = cluster.connect();
  const store = redis(client, { replicas: { min: 1, timeout: 10_000 } });
  {
    await using lock = await acquire(store, "a");
    const [replica] = await cluster.replicasOf(await cluster.masterOf(key));
    const held = async () => await replica!.server.command("CLUSTER", "COUNTKEYSINSLOT", await slotOf(cluster, key));
    assert(Number(await held()) > 0, "the replica of its master has it");
    const migration = await cluster.migrate(key);
    await migration.finish();
    await lock.extend();
  }
  await cluster.cutReplication(key);
  await assertRejects(() => tryAcquire(redis(client, { replicas: REPLICAS }), "a"), StoreError, "replicas");
  assertEquals(await cluster.leftovers(), []);
});

/** How often a server has run a command. */
async function calls(client: Redis, command: string): Promise<number> {
  const pattern = new RegExp(`cmdstat_${command}:calls=(\\d+)`);
  return Number(pattern.exec(await client.info("commandstats"))?.[1] ?? 0);
}

async function slotOf(cluster: ClusterDeployment, key: string): Promise<number> {
  return Number(await cluster.nodes[0]!.server.command("CLUSTER", "KEYSLOT", key));
}
