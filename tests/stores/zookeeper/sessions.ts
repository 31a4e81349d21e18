import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, StoreError, tryAcquire } from "@holdfast/lock";
import { zookeeper } from "@holdfast/lock/zookeeper";
import { ZookeeperConnection } from "../../../src/stores/zookeeper/client.ts";
import { NodeWatches } from "../../../src/stores/zookeeper/watch.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { until } from "../../support/until.ts";
import { closeClient, type TestClient, ZookeeperServer } from "../../support/zookeeper_server.ts";
import { answered, ignore, oneServer, Place, test, threeServers } from "./place.ts";

/** Whether a client is connected. */
const isConnected = (client: TestClient) => client.getState().getCode() === 3;

/** A session that ends when the server has not heard of the client for so long, in milliseconds. */
const SHORT_SESSION = { sessionTimeout: 2_000 };

/** Keeps a client behind a proxy from the server until its session has expired, and lets it find that out. */
async function expire(client: TestClient, proxy: TcpProxy): Promise<void> {
  const id = `0x${client.getSessionId().toHex().replace(/^0+/, "")}`;
  const expired = new Promise<void>((resolve) => void client.once("expired", resolve));
  proxy.halfOpen();
  await until(async () => !(await oneServer().command("dump")).includes(id), "the session has expired");
  proxy.resume();
  await expired;
}

test("acquire() on ZooKeeper goes on with a new session, and keeps its locks", async (place) => {
  await using proxy = await TcpProxy.start(oneServer().port);
  const client = place.client(`127.0.0.1:${proxy.port}`, SHORT_SESSION);
  const store = zookeeper(client, { path: place.path });
  const lock = await acquire(store, "a", { lease: 60_000 });
  const session = `${client.getSessionId()}`;
  await expire(client, proxy);
  await lock.extend(60_000);
  assert(lock.held && isConnected(client) && `${client.getSessionId()}` !== session, "the session is another one");
  assertEquals(await tryAcquire(await place.store(), "a"), null);
  await lock.release();
  assertEquals(await place.used(), []);
});

test("acquire() on ZooKeeper waits on with a new session", async (place) => {
  await using proxy = await TcpProxy.start(oneServer().port);
  const client = place.client(`127.0.0.1:${proxy.port}`, SHORT_SESSION);
  const lock = await acquire(await place.store(), "a", { lease: 60_000 });
  const waiting = acquire(zookeeper(client, { path: place.path }), "a", { wait: 60_000 });
  await until(async () => (await place.documentOf("a")).queue.length === 1, "it waits");
  await expire(client, proxy);
  await lock.release();
  await (await waiting).release();
});

test("acquire() on ZooKeeper goes on after a connection that was cut within an answer", async (place) => {
  await using proxy = await TcpProxy.start(oneServer().port);
  const client = place.client(`127.0.0.1:${proxy.port}`);
  const store = zookeeper(client, { path: place.path });
  const lock = await acquire(store, "a", { lease: 60_000, meta: { note: "x".repeat(200) } });
  const cut = proxy.loseReply(place.path, 100);
  await Promise.all([cut, store.query().catch(() => {})]);
  await until(() => isConnected(client), "the client is connected again");
  await lock.release();
});

test("acquire() on ZooKeeper goes on after a cut within the handshake", async (place) => {
  await using proxy = await TcpProxy.start(oneServer().port);
  const cut = proxy.loseReply("", 10);
  const client = place.client(`127.0.0.1:${proxy.port}`);
  const store = zookeeper(client, { path: place.path });
  await cut;
  await until(() => isConnected(client), "the client is connected");
  await (await acquire(store, "a")).release();
});

test("acquire() on ZooKeeper leaves a client closed whose session had expired before", async (place) => {
  await using proxy = await TcpProxy.start(oneServer().port);
  const client = place.client(`127.0.0.1:${proxy.port}`, SHORT_SESSION);
  const [used, idle] = [0, 1].map(() => zookeeper(client, { path: place.path }));
  await (await acquire(used!, "a")).release();
  await expire(client, proxy);
  await (await acquire(used!, "a")).release();
  await closeClient(client);
  assertEquals([used!.closed, idle!.closed], [true, true]);
  await assertRejects(() => tryAcquire(idle!, "a"), StoreError, "The client of ZooKeeper is closed");
});

test("acquire() on ZooKeeper keeps its locks when its session moves", async () => {
  await using place = Place.open(threeServers().address);
  const client = place.client();
  const lock = await acquire(zookeeper(client, { path: place.path }), "a", { lease: 20_000 });
  const [session, server] = [`${client.getSessionId()}`, client.connectionManager.socket!.remotePort];
  client.connectionManager.socket!.destroy();
  await until(() => isConnected(client) && client.connectionManager.socket!.remotePort !== server, "it has moved");
  await lock.extend(20_000);
  assertEquals(`${client.getSessionId()}`, session);
  await lock.release();
});

/** Returns the server that a client is connected to. */
function serverOf(client: TestClient): ZookeeperServer | undefined {
  return threeServers().servers.find(({ port }) => port === client.connectionManager.socket?.remotePort);
}

test("acquire() on ZooKeeper leaves a server that is frozen", async () => {
  await using place = Place.open(threeServers().address);
  const { followers } = await threeServers().roles();
  const client = place.client();
  await until(() => isConnected(client), "it is connected");
  while (!followers.includes(serverOf(client)!)) {
    const { socket } = client.connectionManager;
    socket!.destroy();
    await until(() => isConnected(client) && client.connectionManager.socket !== socket, "it is connected again");
  }
  const store = zookeeper(client, { path: place.path });
  const lock = await acquire(store, "a", { lease: 60_000 });
  const frozen = serverOf(client)!;
  frozen.freeze();
  try {
    // On a busy machine a process stops somewhat later.
    const moved = () => lock.extend(60_000).then(() => serverOf(client) !== frozen, () => false);
    await until(moved, "the lock is renewed elsewhere", 40_000);
    assert(lock.held);
  } finally {
    frozen.thaw();
  }
  await lock.release();
});

test("acquire() on ZooKeeper leaves a server that accepts connections and is silent", async (place) => {
  await using silent = await TcpProxy.start(oneServer().port);
  silent.stall();
  const client = place.client(`127.0.0.1:${silent.port}`);
  const store = zookeeper(client, { path: place.path });
  const first = client.connectionManager;
  await until(() => first.socket !== undefined, "it connects");
  const { socket } = first;
  await until(
    async () => {
      await assertRejects(() => tryAcquire(store, "a"), StoreError, "has not been connected");
      return first.socket !== socket;
    },
    "it connects anew",
    30_000,
  );
  silent.resume();
  await (await acquire(store, "a", { wait: 20_000 })).release();
});

test("acquire() on ZooKeeper rejects once the client is closed, also while it waits", async (place) => {
  const holder = await place.store();
  const client = place.client();
  const store = zookeeper(client, { path: place.path });
  const held = await acquire(store, "b", { lease: 1_000 });
  const lock = await acquire(holder, "a", { lease: 20_000 });
  const waiting = acquire(store, "a");
  await until(async () => (await holder.query()).pending.length === 1, "it waits");
  await Promise.all([
    closeClient(client),
    assertRejects(() => waiting, StoreError, "The client of ZooKeeper is closed"),
  ]);
  const error = await assertRejects(() => tryAcquire(store, "c"), StoreError, "The client of ZooKeeper is closed");
  assert(error.permanent);
  assertEquals(store.closed, true);
  await until(() => !held.held, "its lease has ended");
  await lock.release();
});

test("NodeWatches resolves when a node is made, changed and removed", async (place) => {
  const [client, backend] = [place.client(), place.backend()];
  const watches = new NodeWatches(new ZookeeperConnection(client));
  const path = `${place.path}/YQ`;
  const { signal } = new AbortController();
  await watches.changed(path, 7, signal);
  for (
    const [before, change] of [
      [undefined, () => backend.write("a", "1", undefined)],
      [0, () => backend.write("a", "2", 0)],
      [1, () => backend.remove("a", 1)],
    ] as const
  ) {
    let told = false;
    const watched = watches.changed(path, before, signal).then(() => told = true);
    // Its answer comes after the watch was set: a server answers the requests of a client in their order.
    await answered<[unknown]>((done) => client.exists(path, () => {}, done));
    assertEquals(told, false);
    await change();
    await watched;
  }
});

test("NodeWatches has one watch for all who wait for a node, and those who come later", async (place) => {
  const client = place.client();
  const backend = place.backend();
  await backend.write("a", "1", undefined);
  const watches = new NodeWatches(new ZookeeperConnection(client));
  const asked: string[] = [];
  const { exists } = client;
  client.exists = (path, ...rest) => (asked.push(path), exists.call(client, path, ...rest));
  const path = `${place.path}/YQ`;
  for (let turn = 0; turn < 20; turn++) {
    const leaving = new AbortController();
    const left = watches.changed(path, 0, leaving.signal);
    leaving.abort();
    await left;
  }
  const waiting = [1, 2, 3].map(() => watches.changed(path, 0, new AbortController().signal));
  await answered<[unknown]>((done) => exists.call(client, path, () => {}, done));
  await backend.write("a", "2", 0);
  await Promise.all(waiting);
  assertEquals(asked, [path]);
});

test("NodeWatches is told below a chroot, and what happened while disconnected", async (place) => {
  await answered((done) => place.client().mkdirp(`${place.path}/chroot`, done));
  await using proxy = await TcpProxy.start(oneServer().port);
  const client = place.client(`127.0.0.1:${proxy.port}${place.path}/chroot`);
  const store = zookeeper(client);
  const other = zookeeper(place.client(), { path: `${place.path}/chroot/holdfast` });
  for (const cut of [false, true]) {
    const lock = await acquire(other, "a", { lease: 60_000 });
    const waiting = acquire(store, "a", { wait: 30_000 });
    await until(async () => (await other.query()).pending.length === 1, "it waits");
    if (cut) proxy.cut();
    await lock.release();
    await (await waiting).release();
  }
});

test("NodeWatches rejects when the watch could not be set", async (place) => {
  const client = place.client();
  await until(() => isConnected(client), "it is connected");
  const watches = new NodeWatches(new ZookeeperConnection(client));
  client.exists = (_path, _watcher, done) => done(new Error("not set"), null);
  await assertRejects(() => watches.changed("/a", 0, new AbortController().signal), Error, "not set");
});

test("acquire() on ZooKeeper polls beside its watches", async (place) => {
  const client = place.client();
  const { exists } = client;
  const deaf: TestClient = Object.assign(Object.create(client), {
    exists: (...[path, , done]: Parameters<TestClient["exists"]>) => exists.call(client, path, () => {}, done),
  });
  const lock = await acquire(await place.store(), "a", { lease: 60_000 });
  const waiting = acquire(zookeeper(deaf, { path: place.path }), "a", { wait: 30_000 });
  await until(async () => (await place.documentOf("a")).queue.length === 1, "it waits");
  await lock.release();
  await (await waiting).release();
});

Deno.test({
  name: "acquire() on ZooKeeper keeps a lock over the death of the server",
  ignore,
  async fn() {
    await using server = await ZookeeperServer.start({ java: ["-Dzookeeper.forceSync=yes"] });
    await using place = Place.open(server.address);
    const [holder, other] = [await place.store(), await place.store()];
    const lock = await acquire(holder, "a", { lease: 60_000 });
    const dead = await acquire(holder, "b", { lease: 1_500, renew: false, strict: false });
    await server.kill();
    await server.start();
    // A client that connects to a server that only begins may be stuck.
    await until(() => lock.extend(60_000).then(() => true, () => false), "it is renewed", 50_000);
    await until(() => other.query().then(() => true, () => false), "the other one is connected", 50_000);
    assertEquals(await tryAcquire(other, "a"), null);
    const next = await acquire(other, "b", { wait: 20_000 });
    assert(next.fence > dead.fence, `${next.fence} after ${dead.fence}`);
    await next.release();
    await lock.release();
  },
});
