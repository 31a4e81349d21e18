// Deno only: it listens on ports in the place of a server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, LockLostError, StoreError } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { renew } from "../../src/stores/redis/scripts/generated.ts";
import { sendsAgain, tested } from "../stores/redis/tested.ts";
import { RedisServer } from "../support/redis_server.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { until } from "../support/until.ts";

/** Much longer than a test, in milliseconds. */
const LEASE = 180_000;

/** Shorter, and longer than a step of a test takes on a busy machine, in milliseconds. */
const SHORTER = 60_000;

const KINDS = { exclusive: {}, shared: { mode: "shared" }, permits: { permits: 2 }, owner: { owner: "me" } } as const;

for (const [kind, options] of Object.entries(KINDS)) {
  Deno.test(`Lock.extend() is not undone by a shorter one that arrives late, ${kind}`, async () => {
    await using server = await RedisServer.start();
    await using proxy = await TcpProxy.start(server.port);
    const [client, direct] = [await connected(proxy), server.connect()];
    const lock = await acquire(tested(client), "a", { ...options, lease: LEASE, renew: false });
    const renewals = await watched(server, direct);
    const stalled = proxy.stallReply(renew.sha);
    const shorter = lock.extend(SHORTER);
    await stalled;
    // ioredis sends again what was not answered, others reject it.
    proxy.cut();
    if (sendsAgain()) await shorter;
    else await assertRejects(() => shorter, StoreError);
    await lock.extend(LEASE);
    await until(() => renewals.length >= (sendsAgain() ? 3 : 2), "all have been executed");
    const [first] = renewals;
    assert(first !== undefined && first.includes(String(SHORTER)), "the first one is shorter");
    // What a network has held up arrives now.
    await direct.call("EVALSHA", ...first.slice(1));
    assert(await direct.pttl("lock:a") > SHORTER, "the lock is kept for as long as its holder believes");
    assert(lock.held && lock.remaining() > SHORTER);
    await lock.release();
    assertEquals(await server.leftovers(), []);
  });
}

Deno.test("RedisStore.evict() that is sent twice revokes only the holders of its call", async () => {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const [admin, direct] = [redis(tested(await connected(proxy))), server.connect()];
  await admin.evict("another");
  const holder = await acquire(direct, "a", { lease: LEASE });
  const waiting = acquire(server.connect(), "a", { lease: LEASE });
  await until(async () => await direct.zcard("{lock:a}:queue") === 1, "the next one is queued");
  const stalled = proxy.stallReply(await digest(holder.owner));
  const evicting = admin.evict("a");
  await stalled;
  const next = await waiting;
  proxy.cut();
  if (sendsAgain()) assertEquals(await evicting, 1, "it says what it has done");
  else await assertRejects(() => evicting, Error);
  assertEquals(await direct.get("lock:a"), next.owner);
  await next.extend();
  await next.release();
  await assertRejects(() => holder.release(), LockLostError);
  assertEquals(await server.leftovers(), []);
});

Deno.test("acquire() that steals and is sent twice does not revoke a later holder", async () => {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const [thief, direct] = [tested(await connected(proxy)), server.connect()];
  await (await acquire(thief, "another", { steal: true })).release();
  const holder = await acquire(direct, "a", { lease: LEASE });
  const stalled = proxy.stallReply(await digest(holder.owner));
  const controller = new AbortController();
  const stealing = acquire(thief, "a", { lease: LEASE, steal: true, signal: controller.signal });
  const given = stealing.catch((error: unknown) => error);
  await stalled;
  await until(async () => ![null, holder.owner].includes(await direct.get("lock:a")), "it is stolen");
  // The thief gets no answer and abandons its wait; meanwhile an operator lets the next one in.
  controller.abort("enough");
  assertEquals(await redis(direct).evict("a"), 1);
  const next = await acquire(direct, "a", { lease: LEASE });
  proxy.cut();
  assertEquals(await given, "enough");
  // What it sends after that comes after what it sent twice.
  const asked = () => redis(thief).query({ name: "a" }).then(() => true, () => false);
  await until(asked, "the thief is connected again");
  assertEquals(await direct.get("lock:a"), next.owner);
  await next.extend();
  await next.release();
  await assertRejects(() => holder.release(), LockLostError);
  // The thief gives back in the background.
  await until(async () => (await server.leftovers()).length === 0, "nothing is left");
});

/** Returns a client behind the proxy, connected. */
async function connected(proxy: TcpProxy): Promise<Redis> {
  const client = proxy.connect();
  await client.ping();
  return client;
}

/** Returns the renewals that the server executes from now on, each as the words of its command. */
async function watched(server: RedisServer, client: Redis): Promise<string[][]> {
  // Under its text for the first time: from then on the server knows the script by its SHA-1.
  await client.script("LOAD", renew.source);
  const renewals: string[][] = [];
  const monitor = server.adopt(await client.monitor());
  monitor.on("monitor", (_time: string, args: string[], source: string) => {
    if (source !== "lua" && args[1] === renew.sha) renewals.push(args);
  });
  return renewals;
}

async function digest(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
