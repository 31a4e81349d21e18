// Deno only: it loads a program of the machine, the core of valkey-glide.
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { acquire, type Lock, LockLostError, type RedisClient, StoreError, tryAcquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { Decoder, GlideClusterClient, ProtocolVersion } from "@valkey/valkey-glide";
import { ValkeyGlidePort } from "../../../../src/stores/redis/clients/valkey_glide.ts";
import type { ValkeyGlideClient } from "../../../../src/stores/redis/clients/client.ts";
import type { SecondConnection } from "../../../../src/stores/redis/clients/port.ts";
import { Wakeups } from "../../../../src/stores/redis/wakeups/wakeups.ts";
import { CLOSED_PORT } from "../../../support/free_port.ts";
import { RedisServer } from "../../../support/redis_server.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import { until } from "../../../support/until.ts";
import { subscribed } from "../wakeups/subscribed.ts";
import { assertRefused } from "./bad_input.ts";
import { handOver } from "./hand_over.ts";
import { openGlide } from "./opening_glide.ts";

/** Much longer than a test, in milliseconds. */
const LEASE = 60_000;

/** What a server may say, most of which valkey-glide puts in other words. */
const REPLIES = [
  "ASK 3999 127.0.0.1:6381",
  "BUSY Redis is busy running a script",
  "CLUSTERDOWN Hash slot not served",
  "CROSSSLOT Keys in request don't hash to the same slot",
  "ERR syntax error: on a line",
  "HOLDFAST a word of one's own",
  "LOADING Redis is loading the dataset in memory",
  "MASTERDOWN Link with MASTER is down",
  "MISCONF Redis is configured to save RDB snapshots",
  "MOVED 3999 127.0.0.1:6381",
  "NOAUTH Authentication required.",
  "NOPERM this user has no permissions to run the 'get' command",
  "NOREPLICAS Not enough good replicas to write.",
  "NOSCRIPT No matching script. Please use EVAL.",
  "NOTBUSY No scripts in execution right now.",
  "OOM command not allowed when used memory > 'maxmemory'.",
  "READONLY You can't write against a read only replica.",
  "TRYAGAIN Multiple keys request during rehashing of slot",
  "WRONGTYPE Operation against a key holding the wrong kind of value",
];

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn });
}

test("ValkeyGlidePort gives each error of the server in the words of the server", async () => {
  await using server = await RedisServer.start();
  const client = await openGlide({ port: server.port });
  const port = new ValkeyGlidePort(client);
  for (const words of REPLIES) {
    const error = await assertRejects(() => port.eval("return redis.error_reply(ARGV[1])", [], [words]), Error);
    assert(error.message.startsWith(words), `${words}: ${error.message}`);
    assert(port.isReply(error) && error.cause instanceof Error, words);
  }
  assertEquals([port.connection.cuts, port.connection.error], [0, undefined]);
  client.close();
});

test("ValkeyGlidePort counts a cut for each missing reply, none for what was not sent", async () => {
  await using server = await RedisServer.start();
  const client = await openGlide({ port: server.port, requestTimeout: 1_000, inflightRequestsLimit: 1 });
  const port = new ValkeyGlidePort(client);
  const fails = async () => await assertRejects(() => port.eval("return 1", [], []), Error);
  server.freeze();
  const late = fails();
  const refused = await fails();
  assert(port.isReply(refused), refused.message);
  assert(!port.isReply(await late));
  assertEquals([port.connection.cuts, port.connection.error?.message], [1, "timed out"]);
  server.thaw();
  client.close();
});

/** Makes a second connection, and resolves once it is opened. */
async function listen(client: ValkeyGlideClient, heard: string[][]): Promise<SecondConnection> {
  const opened = Promise.withResolvers<void>();
  const [subscribe] = new ValkeyGlidePort(client).subscribers();
  const connection = subscribe!(["news"], {
    opened: opened.resolve,
    message: (...message) => heard.push(message),
    refused: opened.reject,
    ended: opened.reject,
  });
  await opened.promise;
  return connection;
}

const OPTIONS = {
  "RESP 2": { protocol: ProtocolVersion.RESP2 },
  "bytes": { defaultDecoder: Decoder.Bytes },
  "lazyConnect": { lazyConnect: true },
};

for (const [what, options] of Object.entries(OPTIONS)) {
  test(`ValkeyGlidePort.subscribers() hear all messages once opened, with ${what}`, async () => {
    await using server = await RedisServer.start();
    const [client, direct] = [await openGlide({ port: server.port, ...options }), server.connect()];
    const heard: string[][] = [];
    const connection = await listen(client, heard);
    assertEquals([await direct.publish("news", "hello"), await direct.publish("news", Buffer.of(255))], [1, 1]);
    await until(() => heard.length === 2, "both are there");
    assertEquals(heard, [["news", "hello"], ["news", "\ufffd"]]);
    await connection.probe();
    connection.close();
    client.close();
  });
}

test("ValkeyGlidePort.subscribers() leave no connection, closed early or late", async () => {
  await using server = await RedisServer.start();
  const [client, direct] = [await openGlide({ port: server.port }), server.connect()];
  const nothing = () => {};
  const [subscribe] = new ValkeyGlidePort(client).subscribers();
  subscribe!(["old"], { opened: nothing, message: nothing, refused: nothing, ended: nothing }).close();
  const connection = await listen(client, []);
  assertEquals(await direct.publish("news", ""), 1);
  connection.close();
  await until(async () => String(await direct.client("LIST", "TYPE", "PUBSUB")).trim() === "", "both are gone");
  client.close();
});

test("acquire() over valkey-glide keeps its turn while its messages are lost unseen", async () => {
  await using server = await RedisServer.start();
  await using proxy = await TcpProxy.start(server.port);
  const [client, direct] = [await openGlide({ port: proxy.port, clientName: "glide" }), server.connect()];
  const holder = await acquire(direct, "a", { lease: LEASE });
  const served: string[] = [];
  const waits: Promise<void>[] = [];
  for (const [name, from] of Object.entries({ client, direct })) {
    const serve = async (lock: Lock) => {
      served.push(name);
      await lock.release();
    };
    waits.push(acquire(from, "a", { lease: LEASE }).then(serve));
    await until(async () => await direct.zcard("{lock:a}:queue") === waits.length, "it is queued");
  }
  const reachable = async () => (await direct.hvals("{lock:a}:waiters")).every((text) => /holdfast:[^-]/.test(text));
  await until(reachable, "both can be notified");
  const listening = async () =>
    /^id=(\d+) .* name=glide /m.exec(await direct.client("LIST", "TYPE", "PUBSUB") as string);
  proxy.refuse();
  await direct.client("KILL", "ID", (await listening())![1]!);
  await until(async () => await listening() === null, "it hears nothing");
  await holder.release();
  await Promise.all(waits);
  assertEquals(served, ["client", "direct"]);
  client.close();
});

test("acquire() over valkey-glide rejects at once when its client is closed", async () => {
  await using server = await RedisServer.start();
  const [client, direct] = [await openGlide({ port: server.port }), server.connect()];
  const holder = await acquire(direct, "a", { lease: LEASE });
  const waiting = assertRejects(() => acquire(client, "a"), StoreError, "closed");
  await until(async () => await direct.zcard("{lock:a}:queue") === 1, "it is queued");
  await subscribed(client);
  client.close();
  assert(!Wakeups.of(client).subscription.open, "its second client is closed with it");
  await waiting;
  await holder.release();
});

test("acquire() over valkey-glide gives the same over RESP 2 and over bytes", async () => {
  await using server = await RedisServer.start();
  const { port } = server;
  const [plain, two, bytes] = [
    await openGlide({ port }),
    await openGlide({ port, protocol: ProtocolVersion.RESP2 }),
    await openGlide({ port, defaultDecoder: Decoder.Bytes, lazyConnect: true }),
  ];
  for (const [from, to] of [[plain, two], [two, bytes], [bytes, plain]] as const) {
    await handOver(from, to);
    const lock = await acquire(from, "kind", {
      permits: 2,
      owner: "me",
      meta: { job: "7" },
      lease: LEASE,
      renew: false,
    });
    const { signal } = lock;
    const { held } = await redis(to).query();
    assertEquals(held.map(({ owner, meta, fence }) => [owner, meta?.["job"], fence]), [["me", "7", lock.fence]]);
    await subscribed(from);
    assertEquals(await redis(to).evict("kind"), 1);
    await until(() => signal.aborted, "the holder is notified");
    await assertRejects(() => lock.release(), LockLostError);
  }
  for (const client of [plain, two, bytes]) client.close();
  assertEquals(await server.leftovers(), []);
});

test("acquire() over valkey-glide asks the primary, whatever the client reads from", async () => {
  await using server = await RedisServer.start(["--repl-diskless-sync-delay", "0"]);
  await using replica = await RedisServer.start(["--replicaof", "127.0.0.1", `${server.port}`]);
  const [direct, other] = [server.connect(), replica.connect()];
  await until(async () => String(await other.info("replication")).includes("master_link_status:up"), "it follows");
  const client = await openGlide({
    port: 0,
    addresses: [replica, server].map(({ port }) => ({ host: "127.0.0.1", port })),
    readFrom: "preferReplica",
  });
  await other.call("REPLICAOF", "NO", "ONE");
  await using lock = await acquire(client, "a");
  assertEquals(await direct.exists("lock:a"), 1);
  assertEquals((await redis(client).query()).held.map(({ name, fence }) => [name, fence]), [["a", lock.fence]]);
  client.close();
});

test("acquire() refuses a GlideClusterClient, and names clients for a Cluster", async () => {
  const options = { addresses: [{ host: "127.0.0.1", port: CLOSED_PORT }], lazyConnect: true };
  const clients = await Promise.all([1, 2, 3].map(() => GlideClusterClient.createClient(options)));
  const [one, ...more] = clients as unknown as [RedisClient, ...RedisClient[]];
  for (const target of [one, [one, ...more]]) {
    for (const ask of [acquire, tryAcquire]) {
      await assertRejects(() => ask(target, "a"), TypeError, "for a Cluster pass a client of node-redis or ioredis");
    }
  }
  for (const client of clients) client.close();
});

test("acquire() over valkey-glide names the right that its user lacks", async () => {
  await using server = await RedisServer.start();
  // Without the right to INFO it would not connect, without that to SUBSCRIBE it makes no second client.
  await server.command("ACL", "SETUSER", "bob", "on", ">secret", "~*", "+info", "+evalsha", "+eval");
  const client = await openGlide({ port: server.port, credentials: { username: "bob", password: "secret" } });
  await assertRefused(client, 'the user "bob" may not run the commands of the scripts');
  client.close();
});

test("redis() over valkey-glide has no replicas", async () => {
  await using server = await RedisServer.start();
  const client = await openGlide({ port: server.port });
  assertThrows(() => redis(client, { replicas: { min: 1 } }), TypeError, "replicas needs a client with");
  client.close();
});
