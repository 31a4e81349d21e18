// Deno only: it asks for servers that are not there, of which each runtime says something else.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError, tryAcquire } from "@holdfast/lock";
import { type IoredisClient, redis, type RedisStore } from "@holdfast/lock/redis";
import { Cluster, Redis } from "ioredis";
import { EventEmitter } from "node:events";
import { portOf } from "../../../../src/stores/redis/clients/port_of.ts";
import { held } from "../../../../src/stores/redis/commands/holder.ts";
import { Runner } from "../../../../src/stores/redis/commands/runner.ts";
import { KeySpace } from "../../../../src/stores/redis/keys/keys.ts";
import * as scripts from "../../../../src/stores/redis/scripts/generated.ts";
import { claimOf } from "../../../support/claims.ts";
import { CLOSED_PORT } from "../../../support/free_port.ts";
import { until } from "../../../support/until.ts";
import { closed, RedisServer } from "../../../support/redis_server.ts";
import { serverStore } from "../../../support/server_store.ts";
import { testOnServer } from "../on_server.ts";

testOnServer("Store.connectionError is the last error of the connection, until that is up", async ({ server }) => {
  const client = server.connect({ maxRetriesPerRequest: 0, retryStrategy: () => 20 });
  const store = redis(client);
  await (await tryAcquire(store, "a"))?.release();
  assertEquals(store.connectionError, undefined);
  await server.kill();
  await until(() => /ECONNREFUSED/.test(store.connectionError?.message ?? ""), "it says why");
  const error = await assertRejects(() => tryAcquire(store, "a"), StoreError, "ECONNREFUSED");
  assert(error.message.includes("Reached the max retries per request limit"), error.message);
  assert(causes(error).some((cause) => Reflect.get(Object(cause), "code") === "ECONNREFUSED"), "and so does a cause");
  await server.start();
  await until(() => store.connectionError === undefined, "it is up again");
  await (await tryAcquire(store, "a"))?.release();
});

Deno.test("Store.connectionError names an unknown host, and a closed port", async () => {
  await assertConnectionError(new Redis(6379, "nowhere.invalid"), /ENOTFOUND|EAI_AGAIN/);
  await assertConnectionError(new Redis(CLOSED_PORT, "localhost"), /ECONNREFUSED/);
});

Deno.test("Store.connectionError is that of the Sentinels when none is reachable", async () => {
  const sentinels = [{ host: "127.0.0.1", port: CLOSED_PORT }];
  const client = new Redis({ sentinels, name: "main", disconnectTimeout: 1 });
  await assertConnectionError(
    client,
    /failed to connect to sentinel 127\.0\.0\.1:\d+ .*All sentinels are unreachable/,
  );
});

Deno.test("Store.connectionError is a node's when a Cluster is unreachable, or is none", async () => {
  const down = new Cluster([{ host: "127.0.0.1", port: CLOSED_PORT }]);
  await assertConnectionError(
    down,
    new RegExp(`node 127\\.0\\.0\\.1:${CLOSED_PORT}: Connection is closed.*Failed to refresh`),
  );
  await using server = await RedisServer.start();
  const client = new Cluster([{ host: "127.0.0.1", port: server.port }]);
  await assertConnectionError(client, /cluster support disabled/);
});

testOnServer("tryAcquire() rejects for good when the credentials are wrong", async ({ server }) => {
  await server.command("ACL", "SETUSER", "app", "on", ">right", "~*", "&*", "+@all");
  const wrong = server.connect({ username: "app", password: "wrong" });
  await assertPermanent(wrong, /wrong user name or password: WRONGPASS/);
  await server.command("CONFIG", "SET", "requirepass", "secret");
  await assertPermanent(server.connect(), /no password: NOAUTH/);
  for (const client of [redis(wrong)]) assert(/WRONGPASS/.test(client.connectionError?.message ?? ""), "it says why");
});

testOnServer("tryAcquire() rejects for good, and says why, when its client is closed", async ({ server, client }) => {
  await client.quit();
  await assertPermanent(client, /Connection is closed/);
  const lost = server.adopt(new Redis(CLOSED_PORT, "127.0.0.1", { retryStrategy: () => null }));
  await assertPermanent(lost, /ECONNREFUSED/);
});

testOnServer("attempt() before the first connection, without offline queue, can be repeated", async ({ server }) => {
  const client = server.connect({ enableOfflineQueue: false });
  const error = await assertRejects(() => attempt(redis(client)), Error, "enableOfflineQueue");
  assert(!(error instanceof StoreError && error.permanent), "it can be tried again");
  await until(() => client.status === "ready", "it is connected");
  await attempt(redis(client));
});

Deno.test("Connection lets the client print errors without another listener", async () => {
  const print = console.error;
  for (const [listener, printed] of [[true, 0], [false, 1]] as const) {
    const lines: unknown[][] = [];
    console.error = (...line: unknown[]) => lines.push(line);
    try {
      const client = new Redis(CLOSED_PORT, "127.0.0.1", { retryStrategy: () => null });
      if (listener) client.on("error", () => {});
      const { connection } = portOf(client);
      await until(() => connection.error !== undefined && client.status === "end", "it has failed");
      assertEquals(lines.length, printed);
      if (printed > 0) {
        assert(/^\[ioredis\] Unhandled error event:.*ECONNREFUSED/.test(lines[0]!.join(" ")), `${lines}`);
      }
    } finally {
      console.error = print;
    }
  }
});

Deno.test("Connection.error includes addresses and codes, or says that it was closed", () => {
  const client = new EventEmitter() as unknown as IoredisClient & EventEmitter;
  client.on("error", () => {});
  const { connection } = portOf(client);
  client.emit(
    "error",
    new AggregateError([new Error("connect ECONNREFUSED ::1:1"), new Error("connect ECONNREFUSED")]),
  );
  assertEquals(connection.error?.message, "connect ECONNREFUSED ::1:1; connect ECONNREFUSED");
  client.emit("close");
  assertEquals(connection.error?.message, "connect ECONNREFUSED ::1:1; connect ECONNREFUSED", "that says more");
  client.emit("ready");
  assertEquals(connection.error, undefined);
  client.emit("error", Object.assign(new Error("certificate has expired"), { code: "CERT_HAS_EXPIRED" }));
  assertEquals(connection.error?.message, "certificate has expired (CERT_HAS_EXPIRED)");
  client.emit("ready");
  client.emit("close");
  assertEquals(connection.error?.message, "the server has closed the connection");
  assertEquals(connection.cuts, 2);
});

Deno.test("Connection.cuts counts those of all nodes of a Cluster, whenever found", () => {
  const [known, found] = [new EventEmitter(), new EventEmitter()];
  const client = Object.assign(new EventEmitter(), { isCluster: true, nodes: () => [known] });
  const { connection } = portOf(client as unknown as IoredisClient);
  client.emit("+node", found);
  for (const node of [known, found]) node.emit("close");
  assertEquals(connection.cuts, 2);
});

Deno.test("Runner.run() forgets the error of a Cluster's node once a server has answered", async () => {
  const client = Object.assign(new EventEmitter(), { isCluster: true, evalsha: () => Promise.resolve("1") });
  const port = portOf(client as unknown as IoredisClient);
  const { connection } = port;
  const runner = new Runner(port, new KeySpace(port, "lock:"));
  client.emit("node error", new Error("Connection is closed."), "127.0.0.1:1");
  assertEquals(connection.error?.message, "node 127.0.0.1:1: Connection is closed.");
  assertEquals(await runner.run(held, "a", claimOf("a"), (reply) => reply), true);
  assertEquals(connection.error, undefined);
});

Deno.test("Store.address is that of the server, unknown unless both host and port are", () => {
  const address = (options: IoredisClient["options"]) => {
    const evalsha = () => Promise.reject(new Error("not connected"));
    const rest = { evalsha, eval: evalsha, duplicate: () => {}, options };
    return serverStore(Object.assign(new EventEmitter(), rest) as unknown as IoredisClient).address;
  };
  assertEquals(address({ host: "redis.local", port: 6379 }), "redis.local:6379");
  assertEquals([address({ host: "redis.local" }), address({ port: 6379 }), address(undefined)], [
    undefined,
    undefined,
    undefined,
  ]);
});

Deno.test("Runner.failure() does not take a refusal for all when the command was sent twice", () => {
  const client = new EventEmitter() as unknown as IoredisClient & EventEmitter;
  const port = portOf(client);
  const runner = new Runner(port, new KeySpace(port, "lock:"));
  const failure = (words: string, cuts: number) => {
    const reply = Object.assign(new Error(words), { name: "ReplyError" });
    return runner.failure(reply, scripts.attempt, ["lock:a"], cuts) instanceof StoreError;
  };
  assert(failure("READONLY", 0), "sent once, nothing was done");
  client.emit("close");
  assert(!failure("READONLY", 0), "before it was cut off it may have been done");
  assert(failure("NOAUTH", 0), "without a login nothing was sent");
  assert(failure("READONLY", 1), "sent after that");
});

/** Fails unless the store says why its client is not connected; closes the client. */
async function assertConnectionError(client: Redis | Cluster, words: RegExp): Promise<void> {
  client.on("error", () => {});
  const store = redis(client);
  await until(() => words.test(store.connectionError?.message ?? ""), `${words}`);
  await closed(client);
}

/** Fails unless the lock is refused for good, with these words. */
async function assertPermanent(client: Redis, words: RegExp): Promise<void> {
  const error = await assertRejects(() => attempt(redis(client)), StoreError);
  assert(words.test(error.message), error.message);
  assert(error.permanent, "for good");
  await assertRejects(() => tryAcquire(client, "a"), StoreError);
}

async function attempt(store: RedisStore): Promise<void> {
  const id = crypto.randomUUID();
  await store.attempt({ name: id, owner: id, mode: "exclusive", lease: 1_000 }, { enqueue: false });
}

/** An error and its causes. */
function causes(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...causes(error.cause)] : [];
}
