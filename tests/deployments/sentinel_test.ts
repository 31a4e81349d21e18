// Deno only: it tries faults of Sentinels, of which the runtime knows nothing.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { Redis as Redis5 } from "ioredis5";
import { HANG_MS, until } from "../support/until.ts";
import { assertFencesRise, code, Load, waiters } from "./load.ts";
import { SentinelDeployment } from "./sentinel.ts";

Deno.test("SentinelDeployment fails over, and loses the writes it is asked to", async () => {
  await using deployment = await SentinelDeployment.start();
  const client = deployment.connect();
  await client.set("a", "kept");
  await until(async () => await client.wait(2, 1_000) === 2, "both replicas have it");
  const first = await deployment.master();
  const second = await deployment.failover();
  assert(second !== first, "another one");
  await until(async () => await client.get("a").catch(() => "") === "kept", "the client has found it");
  await deployment.cutReplication();
  await client.set("a", "lost");
  await second.kill();
  await deployment.promoted(second);
  await until(async () => await client.get("a").catch(() => "") === "kept", "the write is lost");
  await deployment.rejoin(second);
  // Sentinels that have no processor for half a second fail over once more, also to this one.
  const all = async () => [await deployment.master(), ...await deployment.replicas()];
  await until(async () => (await all()).includes(second), "it is back");
});

Deno.test("acquire() serves 6 processes with rising fences although Sentinel's master dies", async () => {
  await using deployment = await SentinelDeployment.start();
  await using load = new Load("sentinel", deployment.address, 6);
  await load.more(20);
  const old = await deployment.master();
  await deployment.cutReplication();
  const cut = load.sections.length;
  await load.more(5);
  assert(load.sections.length > cut, "locks were granted of which no replica has heard");
  await old.kill();
  const next = await deployment.promoted(old);
  const promoted = Date.now();
  await load.more(10);
  await load.stop();

  const back = Math.min(...load.sections.map(({ granted }) => granted).filter((granted) => granted > promoted));
  console.log(`the first lock was granted ${back - promoted} ms after the promotion`);
  assertFencesRise(load.sections);
  await until(async () => (await next.leftovers()).length === 0, "nothing is left");
});

Deno.test("acquire() serves 50 waiters behind Sentinel although the master hangs", async () => {
  await using deployment = await SentinelDeployment.start();
  const noticing = { socketTimeout: 1_500 };
  const holder = deployment.connect(noticing);
  const clients = [
    deployment.connect(noticing),
    deployment.connect({ failoverDetector: true }),
    deployment.adopt(new Redis5({ ...deployment.address, ...noticing, retryStrategy: () => 50 })),
  ];
  const lock = await acquire(holder, "a", { lease: 300_000, renew: false });
  const served = waiters(clients.map((client) => redis(client)), 50, 5_000);
  await until(async () => await holder.zcard("{lock:a}:queue") === 50, "all are queued");
  const old = await deployment.master();
  old.freeze();
  const next = await deployment.promoted(old);
  await until(async () => await code(lock.extend()) === undefined, "the client has found the new master", HANG_MS);
  await lock.release();
  const fences = [lock.fence, ...await served];
  assert(fences.every((fence, i) => i === 0 || fence > fences[i - 1]!), `${fences} rise`);
  await until(async () => (await next.leftovers()).length === 0, "nothing is left");
});

Deno.test("acquire() passes a Sentinel that hangs only if the client sets a time-out", async () => {
  await using deployment = await SentinelDeployment.start({ replicas: 0, sentinels: 2 });
  deployment.sentinels[0]!.freeze();
  await using lock = await acquire(deployment.connect({ sentinelCommandTimeout: 500 }), "a", { wait: HANG_MS });
  assert(lock.held);
  assertEquals(await code(acquire(deployment.connect(), "b", { wait: 2_000 })), "store");
});
