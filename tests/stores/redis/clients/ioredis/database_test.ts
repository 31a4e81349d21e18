import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, acquireAll, QuorumError, StoreError, tryAcquire } from "@holdfast/lock";
import { redis, type RedisStore } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { Database } from "../../../../../src/stores/redis/clients/ioredis/database.ts";
import { claimOf } from "../../../../support/claims.ts";
import { settled } from "../../../../support/virtual_clock.ts";
import { RedisServer } from "../../../../support/redis_server.ts";
import { FakeClient } from "../../fake_client.ts";
import { connectAs, RULE } from "../../rights.ts";
import { selections } from "./selections.ts";

/** A server with the databases 0 to 3. */
const SMALL = ["--databases", "4"];

/** The options with which clients connect in other ways. */
const WAYS = {
  "as by default": {},
  "without a ready check": { enableReadyCheck: false },
  "without any other command": { enableReadyCheck: false, disableClientInfo: true },
  "when it is needed": { lazyConnect: true },
} as const;

/** Rejects unless a call is refused for good because of this database. */
async function assertRefused(call: () => Promise<unknown>, database: number): Promise<void> {
  const error = await assertRejects(call, StoreError, `the server refuses database ${database}: `);
  assert(error.permanent, error.message);
}

/** Returns the databases of a server that have keys. */
async function databasesOf(server: RedisServer): Promise<string[]> {
  const info = String(await server.command("INFO", "keyspace"));
  return [...info.matchAll(/^(db\d+):/gm)].map(([, database]) => database!);
}

const CLIENTS = {
  6: (options: { port: number; db: number }) => new Redis(options),
  5: (options: { port: number; db: number }) => new Redis5(options),
};

for (const [major, make] of Object.entries(CLIENTS)) {
  for (const [way, options] of Object.entries(WAYS)) {
    Deno.test(`redis() refuses a missing database: ioredis ${major} connects ${way}`, async () => {
      await using server = await RedisServer.start(SMALL);
      const client = server.adopt<Redis | Redis5>(make({ port: server.port, db: 99, ...options }));
      const store = redis(client);
      const calls: ((store: RedisStore) => Promise<unknown>)[] = [
        async (store) => await (await tryAcquire(store, "a"))!.release(),
        async (store) => await (await acquireAll(store, ["a", "b"])).release(),
        async (store) => await (await acquire(store, "a", { steal: true })).release(),
        (store) => store.query(),
        (store) => store.query({ name: "a" }),
        (store) => store.evict("a"),
        (store) => store.renew(claimOf("a")),
        (store) => store.release(claimOf("a")),
      ];
      // The server knows the scripts: so it would run them.
      for (const call of calls) await call(redis(server.connect()));
      await server.command("FLUSHALL");
      await assertRefused(() => acquire(client, "a"), 99);
      await Promise.all(calls.map((call) => assertRefused(() => call(store), 99)));
      assertEquals(await databasesOf(server), [], "nothing was written to another database");
    });
  }
}

Deno.test("redis() refuses the database of a client that was connected long before", async () => {
  await using server = await RedisServer.start(SMALL);
  for (const options of [{ db: 99 }, {}]) {
    const client = server.connect(options);
    await client.ping();
    if (options.db === undefined) await client.select(99).catch(() => {});
    await assertRefused(() => acquire(client, "a"), 99);
  }
  assertEquals(await databasesOf(server), []);
});

Deno.test("redis() selects the database once for each connection, and never database 0", async () => {
  await using server = await RedisServer.start(SMALL);
  for (const [db, sent] of [[3, 1], [0, 0]] as const) {
    const client = server.connect({ db });
    await client.ping();
    const before = await selections(server);
    for (let i = 0; i < 5; i++) await (await acquire(client, "a")).release();
    assertEquals(await selections(server) - before, sent);
  }
});

Deno.test("redis() refuses a database that its client selects later", async () => {
  await using server = await RedisServer.start(SMALL);
  const client = server.connect();
  await (await acquire(client, "first")).release();
  await assertRejects(() => client.select(99), Error, "DB index");
  await assertRefused(() => acquire(client, "second"), 99);
  await client.select(2);
  await (await acquire(client, "third")).release();
  const keys = async (database: number) => {
    await client.select(database);
    return await client.keys("*");
  };
  assertEquals([await keys(0), await keys(2)], [["{lock:first}:fence"], ["{lock:third}:fence"]]);
});

Deno.test("redis() stays in the database that its client has selected after a reconnection", async () => {
  await using server = await RedisServer.start(SMALL);
  const client = server.connect();
  await client.select(3);
  const store = redis(client);
  await (await acquire(store, "before")).release();
  const connected = new Promise((resolve) => client.once("connect", resolve));
  client.disconnect(true);
  // Until it is ready, the client itself would send commands to the database of its options.
  await connected;
  await (await acquire(store, "after")).release();
  assertEquals(await databasesOf(server), ["db3"]);
});

Deno.test("redis() refuses a database that the next server lacks, and replies from there", async () => {
  await using large = await RedisServer.start();
  await using small = await RedisServer.start(SMALL);
  const calls: [known: boolean, call: (store: RedisStore) => Promise<unknown>, replicas?: { min: number }][] = [
    [false, (store) => tryAcquire(store, "a")],
    [true, (store) => store.renew(claimOf("a"))],
    [true, (store) => store.renew(claimOf("a")), { min: 1 }],
  ];
  for (const [known, call, replicas] of calls) {
    // What a server runs of scripts that it knows, it has run already.
    if (known) await redis(small.connect()).renew(claimOf("a"));
    const client = large.connect({ db: 9 });
    const store = redis(client, { replicas });
    await store.query({ name: "a" });
    await large.command("CLIENT", "PAUSE", 600_000, "WRITE");
    // Sent, without an answer: the client sends it again over the next connection.
    const sent = call(store).catch((error: unknown) => error);
    await new Promise((resolve) => setImmediate(resolve));
    client.options.port = small.port;
    client.stream.destroy();
    const error = await sent;
    assert(error instanceof StoreError && error.message.includes("database 9"), `${error}`);
    await assertRefused(() => acquire(store, "a"), 9);
    assertEquals(await databasesOf(small), []);
    await large.command("CLIENT", "UNPAUSE");
  }
});

Deno.test("Database.run() keeps the order of calls, and confirms nothing too late", async () => {
  const client = Object.assign(new FakeClient(), { options: { db: 3 } });
  const sent: PromiseWithResolvers<unknown>[] = [];
  const selected: number[] = [];
  const select = (database: number) => {
    selected.push(database);
    sent.push(Promise.withResolvers<unknown>());
    return sent.at(-1)!.promise;
  };
  const database = new Database(Object.assign(client, { select }).client, () => "default");
  for (const [event, ...values] of [["close"], ["select", 5], []]) {
    const log: string[] = [];
    database.forget();
    const calls = ["first", "second"].map((name) => database.run(() => Promise.resolve(log.push(name))));
    if (event === "close") database.forget();
    else if (event !== undefined) client.emit(`${event}`, ...values);
    sent.at(-1)!.resolve("OK");
    await settled();
    assertEquals(
      log,
      event === undefined ? ["first", "second"] : [],
      "an answer to an earlier question counts no more",
    );
    sent.at(-1)!.resolve("OK");
    await Promise.all(calls);
    assertEquals(log, ["first", "second"]);
  }
  assertEquals(selected, [3, 3, 3, 5, 5]);
});

Deno.test("redis() with replicas refuses a database that the server does not have", async () => {
  await using server = await RedisServer.start(SMALL);
  const store = redis(server.connect({ db: 99 }), { replicas: { min: 1 } });
  await assertRefused(() => acquire(store, "a"), 99);
  await assertRefused(() => store.renew(claimOf("a")), 99);
  assertEquals(await databasesOf(server), []);
});

Deno.test("redlock() refuses a database that the servers do not have", async () => {
  await using one = await RedisServer.start(SMALL);
  await using two = await RedisServer.start(SMALL);
  await using three = await RedisServer.start();
  const servers = [one, two, three];
  const store = redlock(servers.map((server) => server.connect({ db: 9 })));
  const error = await assertRejects(() => acquire(store, "a"), QuorumError, "the server refuses database 9: ");
  assert(error.permanent, error.message);
  assertEquals((await Promise.all([one, two].map(databasesOf))).flat(), []);
});

Deno.test("redis() names the right to select a database", async () => {
  await using server = await RedisServer.start(SMALL);
  const admin = server.connect();
  const rule = [...RULE.keys, ...RULE.channels, ...RULE.client, ...RULE.scripts];
  const options = { enableReadyCheck: false, db: 2 };
  const client = await connectAs(server, admin, "worker", rule, options);
  await assertRefused(() => acquire(client, "a"), 2);
  await assertRejects(() => acquire(client, "a"), StoreError, '"ACL SETUSER worker +select" grants it');
  const allowed = await connectAs(server, admin, "other", [...rule, "+select"], options);
  await (await acquire(allowed, "a")).release();
  assertEquals(await databasesOf(server), ["db2"]);
});
