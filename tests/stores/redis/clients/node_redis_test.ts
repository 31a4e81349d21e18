// Deno only: it starts Clusters and Sentinels, of which the runtime knows nothing.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, LockLostError, type RedisClient, StoreError, tryAcquire } from "@holdfast/lock";
import { redis, type RedisStore } from "@holdfast/lock/redis";
import { createClient, createClientPool, createCluster, createSentinel } from "redis";
import {
  createClient as createClient5,
  createClientPool as createClientPool5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from "redis5";
import { release } from "../../../../src/stores/redis/scripts/generated.ts";
import { Wakeups } from "../../../../src/stores/redis/wakeups/wakeups.ts";
import { ClusterDeployment } from "../../../deployments/cluster.ts";
import { SentinelDeployment } from "../../../deployments/sentinel.ts";
import { claimOf } from "../../../support/claims.ts";
import { CLOSED_PORT } from "../../../support/free_port.ts";
import { RedisServer } from "../../../support/redis_server.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import { HANG_MS, until } from "../../../support/until.ts";
import { handOver } from "./hand_over.ts";
import { Redis } from "ioredis";

/** Much longer than a test, in milliseconds. */
const LEASE = 60_000;

/** How the store says that a server does not have the database. */
const REFUSED = "the server refuses database 9: ERR DB index is out of range";

const VERSIONS = {
  6: { createClient, createClientPool, createCluster, createSentinel },
  5: {
    createClient: createClient5 as unknown as typeof createClient,
    createClientPool: createClientPool5 as unknown as typeof createClientPool,
    createCluster: createCluster5 as unknown as typeof createCluster,
    createSentinel: createSentinel5 as unknown as typeof createSentinel,
  },
};

/** A client of node-redis that is to be closed. */
interface Opened {
  connect(): Promise<unknown>;
  destroy(): unknown;
  on(event: "error", listener: () => void): unknown;
}

/** Connects a client, which is closed with the stack. */
async function opened<T extends Opened>(client: T, stack: AsyncDisposableStack): Promise<T> {
  client.on("error", () => {});
  stack.defer(async () => void await client.destroy());
  await client.connect();
  return client;
}

/** Returns the options of a client that asks Sentinels for the master, and reaches it by way of a proxy. */
function behind(deployment: SentinelDeployment, proxy: TcpProxy) {
  const { name, sentinels } = deployment.address;
  return {
    name,
    sentinelRootNodes: sentinels.map(({ host, port }) => ({ host, port })),
    nodeAddressMap: { [`127.0.0.1:${deployment.servers[0]!.port}`]: { host: "127.0.0.1", port: proxy.port } },
  };
}

for (const [version, make] of Object.entries(VERSIONS)) {
  Deno.test(`node-redis ${version}: acquire() over a pool hands over, and leaves nothing`, async () => {
    await using server = await RedisServer.start();
    {
      await using stack = new AsyncDisposableStack();
      const pools = [0, 1].map(() => make.createClientPool({ socket: { host: "127.0.0.1", port: server.port } }));
      const [from, to] = await Promise.all(pools.map((pool) => opened(pool, stack)));
      await handOver(from!, to!);
      assertEquals((await redis(from!).query()).held, []);
      const store = redis(from!, { replicas: { min: 1, timeout: 10 } });
      const claim = { name: "a", owner: "me", mode: "exclusive", lease: LEASE } as const;
      await assertRejects(() => store.attempt(claim, { enqueue: false }), StoreError, "fewer than 1 replicas");
    }
    await until(async () => {
      const clients = String(await server.command("CLIENT", "LIST")).trim().split("\n");
      return clients.length === 1;
    }, "every connection is closed");
    assertEquals(await server.leftovers(), []);
  });

  Deno.test(`node-redis ${version}: acquire() in a Cluster hands over names on all masters`, async () => {
    await using cluster = await ClusterDeployment.start({ replicas: 0 });
    await using stack = new AsyncDisposableStack();
    const rootNodes = cluster.addresses.map(({ host, port }) => ({ socket: { host, port } }));
    const clients = [0, 1].map(() => make.createCluster({ rootNodes }));
    const [from, to] = await Promise.all(clients.map((client) => opened(client, stack)));
    for (const name of ["a", "b", "c", "d"]) await handOver(from!, to!, name);
    const locks = await Promise.all(["e", "f", "g", "h"].map((name) => acquire(from!, name)));
    assertEquals((await redis(to!).query()).held.length, 4);
    await Promise.all(locks.map((lock) => lock.release()));
    assertEquals(await cluster.leftovers(), []);
  });

  Deno.test(`node-redis ${version}: acquire() works when a client was idle for socketTimeout`, async () => {
    await using cluster = await ClusterDeployment.start({ masters: 1, replicas: 0 });
    await using stack = new AsyncDisposableStack();
    const rootNodes = cluster.addresses.map(({ host, port }) => ({ socket: { host, port } }));
    // Short here, though long for a busy machine; the docs recommend longer ones.
    const silence = { socketTimeout: 2_000, reconnectStrategy: 20 };
    const faulty = make.createCluster({ rootNodes, defaults: { socket: { socketTimeout: 100 } } });
    const warning = (client: RedisClient) => Wakeups.of(client).port.optionsWarning ?? "";
    assert(warning(faulty).includes("with socketTimeout and without reconnectStrategy"), warning(faulty));
    const client = make.createCluster({ rootNodes, defaults: { socket: silence } });
    assert(!warning(client).includes("socketTimeout"), warning(client));
    let reconnected = 0;
    client.on("node-reconnecting", () => reconnected++);
    await opened(client, stack);
    await until(() => reconnected > 0, "it was idle for too long");
    await (await acquire(client, "a")).release();
  });

  Deno.test(`node-redis ${version}: acquire() hands over behind Sentinels`, async () => {
    await using deployment = await SentinelDeployment.start();
    await using stack = new AsyncDisposableStack();
    const { name, sentinels } = deployment.address;
    const sentinelRootNodes = sentinels.map(({ host, port }) => ({ host, port }));
    const clients = [0, 1].map(() => make.createSentinel({ name, sentinelRootNodes }));
    const [from, to] = await Promise.all(clients.map((client) => opened(client, stack)));
    await handOver(from!, to!);
    await deployment.failover();
    await handOver(from!, to!, "b");
  });

  Deno.test(`node-redis ${version}: Lock.release() sent twice behind Sentinels is no loss`, async () => {
    await using deployment = await SentinelDeployment.start({ replicas: 0, sentinels: 1 });
    await using proxy = await TcpProxy.start(deployment.servers[0]!.port);
    await using stack = new AsyncDisposableStack();
    const client = await opened(make.createSentinel(behind(deployment, proxy)), stack);
    await (await acquire(client, "a")).release();
    const lock = await acquire(client, "a", { lease: LEASE });
    const calls = async () => {
      const stats = String(await deployment.servers[0]!.command("INFO", "commandstats"));
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
    };
    const before = await calls();
    await Promise.all([proxy.loseReply(release.sha), lock.release()]);
    assertEquals(await calls(), before + 2, "it was sent again");
  });

  Deno.test(`node-redis ${version}: acquire() leaves a Sentinel that hangs for the next one`, async () => {
    await using deployment = await SentinelDeployment.start({ replicas: 0, sentinels: 2 });
    await using proxy = await TcpProxy.start(deployment.servers[0]!.port);
    await using stack = new AsyncDisposableStack();
    const sentinelClientOptions = { pingInterval: 500, socket: { socketTimeout: 2_000 } };
    const client = await opened(make.createSentinel({ ...behind(deployment, proxy), sentinelClientOptions }), stack);
    await (await acquire(client, "a")).release();
    const asked = client.getSentinelNode();
    deployment.sentinels.find(({ port }) => port === asked?.port)!.freeze();
    // Now it asks where the master is.
    proxy.cut();
    await (await acquire(client, "a", { wait: HANG_MS })).release();
  });

  Deno.test(`node-redis ${version}: Lock.held ends, with a master but no Sentinel`, async () => {
    await using deployment = await SentinelDeployment.start({ replicas: 0, sentinels: 1 });
    await using stack = new AsyncDisposableStack();
    const { name, sentinels: [{ host, port } = {}] } = deployment.address;
    const client = await opened(
      make.createSentinel({ name, sentinelRootNodes: [{ host: host!, port: port! }] }),
      stack,
    );
    const lock = await acquire(client, "a", { lease: 1_000 });
    const [sentinel] = deployment.sentinels;
    await sentinel!.kill();
    await until(() => !lock.held, "it is not renewed");
    assertEquals(await deployment.servers[0]!.command("PING"), "PONG");
    await sentinel!.start();
    await assertRejects(() => lock.release(), LockLostError);
  });

  Deno.test(`node-redis ${version}: tryAcquire() says that a client is not connected`, async () => {
    await using server = await RedisServer.start();
    const client = make.createClient({ socket: { host: "127.0.0.1", port: server.port } });
    client.on("error", () => {});
    const error = await assertRejects(() => tryAcquire(client, "a"), StoreError, "connect()");
    assert(error.permanent, error.message);
    await client.connect();
    await (await tryAcquire(client, "a"))!.release();
    client.destroy();
    await assertRejects(() => tryAcquire(client, "a"), StoreError, "closed");
    assertEquals(await server.leftovers(), []);
  });

  Deno.test(`node-redis ${version}: tryAcquire() gets its own answer when a listener throws`, async () => {
    await using server = await RedisServer.start();
    await using stack = new AsyncDisposableStack();
    await using _held = await acquire(server.connect(), "a");
    const socket = { host: "127.0.0.1", port: server.port };
    const client = await opened(make.createClient({ RESP: 3, socket }), stack);
    const errors: string[] = [];
    client.on("error", ({ message }) => errors.push(message));
    const store = redis(client);
    await (await acquire(store, "b")).release();
    await client.subscribe("news", () => {
      throw new Error("no news");
    });
    // The message, the reply to PUBLISH and that to the attempt arrive together.
    const published = client.publish("news", "late");
    const asked = tryAcquire(store, "a");
    await until(() => errors.length > 0, "the listener was called");
    for (const name of ["b", "c"]) await (await tryAcquire(store, name))!.release();
    assertEquals([await published, await asked, errors], [1, null, ["no news"]]);
  });

  Deno.test(`node-redis ${version}: redis() refuses a missing database while it connects`, async () => {
    await using server = await RedisServer.start(["--databases", "1"]);
    await using stack = new AsyncDisposableStack();
    const calls: ((store: RedisStore) => Promise<unknown>)[] = [
      async (store) => await (await tryAcquire(store, "a"))!.release(),
      (store) => store.query(),
      (store) => store.evict("a"),
      (store) => store.release(claimOf("a")),
    ];
    // The server knows the scripts: so it would run them.
    for (const call of calls) await call(redis(server.connect()));
    await server.command("FLUSHALL");
    const socket = { host: "127.0.0.1", port: server.port, reconnectStrategy: 10 };
    const client = make.createClient({ database: 9, socket });
    client.on("error", () => {});
    stack.defer(() => client.destroy());
    client.connect().catch(() => {});
    const one = redis(client, { replicas: { min: 1 } });
    const stores = [...calls.map((call) => () => call(redis(client))), () => one.renew(claimOf("a"))];
    for (const error of await Promise.all(stores.map((call) => assertRejects(call, StoreError, REFUSED)))) {
      assert(error.permanent, error.message);
    }
    assertEquals(await server.command("DBSIZE"), 0, "nothing was written to database 0");
  });

  Deno.test(`node-redis ${version}: tryAcquire() keeps its database after a cut`, async () => {
    await using large = await RedisServer.start();
    await using small = await RedisServer.start(["--databases", "1"]);
    await using proxy = await TcpProxy.start(large.port);
    await using stack = new AsyncDisposableStack();
    const socket = { host: "127.0.0.1", port: proxy.port, reconnectStrategy: 10 };
    const client = await opened(make.createClient({ database: 9, socket }), stack);
    for (const each of [client, small.connect()]) await (await acquire(each, "b")).release();
    await small.command("FLUSHALL");
    proxy.redirect(small.port);
    await until(() => !client.isReady, "the connection is cut");
    await assertRejects(() => tryAcquire(client, "a"), StoreError, REFUSED);
    assertEquals(await small.command("DBSIZE"), 0);
    const asked = tryAcquire(client, "c").catch(() => undefined);
    proxy.redirect(large.port);
    await (await asked)?.release();
    await (await acquire(client, "a")).release();
    assertEquals(await small.command("DBSIZE"), 0);
  });

  Deno.test(`node-redis ${version}: Store.connectionError says why a server is away`, async () => {
    await using stack = new AsyncDisposableStack();
    const client = make.createClient({ socket: { host: "127.0.0.1", port: CLOSED_PORT, reconnectStrategy: 20 } });
    client.on("error", () => {});
    stack.defer(() => client.destroy());
    const store = redis(client);
    client.connect().catch(() => {});
    await until(() => /ECONNREFUSED/.test(store.connectionError?.message ?? ""), "it says why");
  });
}

Deno.test("acquire([a, b, c]) takes clients of several libraries", async () => {
  await using stack = new AsyncDisposableStack();
  const servers = await Promise.all([0, 1, 2].map(() => RedisServer.start()));
  for (const server of servers) stack.use(server);
  const [first, second, third] = servers.map(({ port }) => ({ host: "127.0.0.1", port }));
  const ofIoredis = servers[0]!.adopt(new Redis(first!));
  const clients: RedisClient[] = [
    ofIoredis,
    await opened(createClient({ socket: second! }), stack),
    await opened(createClientPool5({ socket: third! }), stack),
  ];
  const lock = await acquire(clients, "a");
  assertEquals(await tryAcquire(clients, "a"), null);
  const waiting = acquire(clients, "a");
  await lock.release();
  await (await waiting).release();
});
