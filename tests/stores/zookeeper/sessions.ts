import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, StoreError, tryAcquire } from "@holdfast/lock";
import { zookeeper } from "@holdfast/lock/zookeeper";
import { nodeOf } from "../../../src/stores/zookeeper/node_name.ts";
import { ZookeeperConnection } from "../../../src/stores/zookeeper/client.ts";
import { ZookeeperBackend } from "../../../src/stores/zookeeper/store.ts";
import { NodeWatches } from "../../../src/stores/zookeeper/watch.ts";
import { claimOf } from "../../support/claims.ts";
import { inTime } from "../../support/in_time.ts";
import { freePort } from "../../support/free_port.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { closeClient, CLOSED, isConnected, type TestClient, ZookeeperServer } from "../../support/zookeeper_server.ts";
import { answered, oneServer, Place, test, threeServers } from "./place.ts";

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
  await using lock = await acquire(store, "a", { lease: 60_000 });
  const session = client.getSessionId().toHex();
  await expire(client, proxy);
  // On a slow machine the next session may expire as well.
  await until(() => lock.extend(60_000).then(() => true, () => false), "it is renewed", HANG_MS);
  assert(lock.held && client.getSessionId().toHex() !== session, "the session is another one");
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

test("acquire() on ZooKeeper goes on after a cut with 2 MB of watches", async (place) => {
  const [client, backend] = [place.client(), place.backend()];
  const store = zookeeper(client, { path: place.path });
  const lock = await acquire(store, "a", { lease: 60_000 });
  const watches = new NodeWatches(new ZookeeperConnection(client));
  const { signal } = new AbortController();
  const a = await place.nodeOf("a");
  // 2 MB, of which a server takes 1 MB in one packet.
  const paths = Array.from({ length: 8_000 }, (_, i) => `${place.path}/${String(i).padEnd(250, "x")}`);
  const told: Promise<string>[] = [];
  for (const [i, path] of [...paths, await place.nodeOf("b")].entries()) {
    told.push(watches.changed(path, undefined, signal).then(() => path));
    // Each request has a limit of its own, and a slow server does not answer thousands in that time.
    if (i % 500 === 0) await answered<[unknown]>((done) => client.exists(a, () => {}, done));
  }
  client.connectionManager.socket!.destroy();
  await backend.write("b", "1", undefined);
  assertEquals(await Promise.race(told), await place.nodeOf("b"));
  await lock.release();
});

test("acquire() on ZooKeeper goes on when its client has sent 2^31 requests", async (place) => {
  const client = place.client();
  const store = zookeeper(client, { path: place.path });
  const lock = await acquire(store, "a", { lease: 60_000 });
  client.connectionManager.xid = 2 ** 31 - 3;
  for (let i = 0; i < 3; i++) await (await acquire(store, "b")).release();
  assert(client.connectionManager.xid < 100, `${client.connectionManager.xid}`);
  await lock.extend(60_000);
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

test("zookeeper() lets a client be closed while it connects", async (place) => {
  await using proxy = await TcpProxy.start(oneServer().port);
  const connecting = proxy.stallReply("");
  const client = place.client(`127.0.0.1:${proxy.port}`);
  const store = zookeeper(client, { path: place.path });
  await connecting;
  client.close();
  proxy.resume();
  // An error of the client would be thrown where nobody catches it.
  await until(() => client.connectionManager.state === CLOSED, "the client is closed");
  assert(store.closed);
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
  const lock = await acquire(zookeeper(client, { path: place.path }), "a", { lease: 60_000 });
  const [session, server] = [client.getSessionId().toHex(), client.connectionManager.socket!.remotePort];
  client.connectionManager.socket!.destroy();
  await until(() => isConnected(client) && client.connectionManager.socket!.remotePort !== server, "it has moved");
  await lock.extend(60_000);
  assertEquals(client.getSessionId().toHex(), session);
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
    await until(moved, "the lock is renewed elsewhere", HANG_MS);
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
      // It says that it is not connected, or after a slow moment that no answer has come.
      await assertRejects(() => tryAcquire(store, "a"), StoreError);
      return first.socket !== socket;
    },
    "it connects anew",
    HANG_MS,
  );
  silent.resume();
  await (await acquire(store, "a", { wait: HANG_MS })).release();
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

test("wakeup() on ZooKeeper resolves by a watch alone when a lock is released", async (place) => {
  const lock = await acquire(await place.store(), "a", { lease: 60_000 });
  // On a clock that stands still nobody looks, and nobody attempts again.
  const store = await place.engine(new VirtualClock());
  const claim = claimOf("a");
  assert(!(await store.attempt(claim, { enqueue: true })).granted);
  const woken = store.wakeup(claim, new AbortController().signal);
  const node = await place.nodeOf("a");
  await until(async () => (await oneServer().command("wchp")).includes(node), "it watches");
  await lock.release();
  await inTime(woken, HANG_MS, "the event");
  assert((await store.attempt(claim, { enqueue: true })).granted);
  assert(await store.release(claim));
});

test("wakeup() on ZooKeeper resolves when the client is closed", async (place) => {
  const lock = await acquire(await place.store(), "a", { lease: 60_000 });
  const client = place.client();
  const store = await place.engine(new VirtualClock(), client);
  const claim = claimOf("a");
  assert(!(await store.attempt(claim, { enqueue: true })).granted);
  const woken = store.wakeup(claim, new AbortController().signal);
  await closeClient(client);
  await inTime(woken, HANG_MS, "the close");
  await lock.release();
});

test("revocation() on ZooKeeper resolves by a watch alone when the lock is taken away", async (place) => {
  const store = await place.engine(new VirtualClock());
  const claim = claimOf("a");
  assert((await store.attempt(claim, { enqueue: false })).granted);
  const revoked = store.revocation(claim, new AbortController().signal);
  const node = await place.nodeOf("a");
  await until(async () => (await oneServer().command("wchp")).includes(node), "it watches");
  assertEquals(await (await place.store()).evict("a"), 1);
  await inTime(revoked, HANG_MS, "the event");
});

test("NodeWatches resolves when a node is made, changed and removed", async (place) => {
  const [client, backend] = [place.client(), place.backend()];
  const watches = new NodeWatches(new ZookeeperConnection(client));
  const path = await place.nodeOf("a");
  const { signal } = new AbortController();
  await watches.changed(path, 7, signal);
  for (
    const [before, change] of [
      [undefined, () => backend.write("a", "1", undefined)],
      [0, () => backend.write("a", "2", 0)],
      [1, () => backend.remove([{ key: "a", version: 1 }])],
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
  const path = await place.nodeOf("a");
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
  await answered((done) => place.client().mkdirp(`${place.path}/chroot/holdfast`, done));
  await using proxy = await TcpProxy.start(oneServer().port);
  const client = place.client(`127.0.0.1:${proxy.port}${place.path}/chroot`);
  const watches = new NodeWatches(new ZookeeperConnection(client));
  const other = new ZookeeperBackend(place.client(), `${place.path}/chroot/holdfast`);
  await other.write("a", "0", undefined);
  const node = await nodeOf("a");
  for (const cut of [false, true]) {
    const { version } = await other.read("a");
    const watched = watches.changed(`/holdfast/${node}`, version, new AbortController().signal);
    // Its answer comes after that of the watch, which the cut must not lose.
    await answered<[unknown]>((done) => client.exists(`/holdfast/${node}`, () => {}, done));
    if (cut) proxy.redirect(freePort());
    await other.write("a", "1", version);
    if (cut) proxy.redirect(oneServer().port);
    await inTime(watched, HANG_MS, "the event");
  }
});

test("NodeWatches rejects when the watch could not be set", async (place) => {
  const client = place.client();
  await until(() => isConnected(client), "it is connected");
  const watches = new NodeWatches(new ZookeeperConnection(client));
  client.exists = (_path, _watcher, done) => done(new Error("not set"), null);
  await assertRejects(() => watches.changed("/a", 0, new AbortController().signal), Error, "not set");
});

test("zookeeper() listens to a client once, for all stores on it", (place) => {
  const client = place.client() as TestClient & { listenerCount(event: string): number };
  const before = client.listenerCount("state");
  for (let i = 0; i < 20; i++) zookeeper(client, { path: `${place.path}/${i}` });
  assertEquals(client.listenerCount("state") - before, 1);
  return Promise.resolve();
});

test("wakeup() on ZooKeeper resolves by a look every 5 s where no watch fires", async (place) => {
  const client = place.client();
  const { exists } = client;
  const deaf: TestClient = Object.assign(Object.create(client), {
    exists: (...[path, , done]: Parameters<TestClient["exists"]>) => exists.call(client, path, () => {}, done),
  });
  const lock = await acquire(await place.store(), "a", { lease: 300_000 });
  const clock = new VirtualClock();
  const store = await place.engine(clock, deaf);
  const claim = claimOf("a");
  assert(!(await store.attempt(claim, { enqueue: true })).granted);
  let looked = false;
  const woken = store.wakeup(claim, new AbortController().signal).then(() => looked = true);
  await lock.release();
  await clock.advance(4_999);
  assertEquals(looked, false);
  await clock.advance(1);
  await inTime(woken, HANG_MS, "the look");
  assert(await store.release(claim));
});

test("acquire() on ZooKeeper keeps a lock over the death of the server", async () => {
  await using server = await ZookeeperServer.start({ java: ["-Dzookeeper.forceSync=yes"] });
  await using place = Place.open(server.address);
  const [holder, other] = [await place.store(), await place.store()];
  const lock = await acquire(holder, "a", { lease: 300_000 });
  const dead = await acquire(holder, "b", { lease: 1_500, renew: false, strict: false });
  await server.kill();
  await server.start();
  // A client that connects to a server that only begins may be stuck.
  await until(() => lock.extend(300_000).then(() => true, () => false), "it is renewed", HANG_MS);
  await until(() => other.query().then(() => true, () => false), "the other one is connected", HANG_MS);
  assertEquals(await tryAcquire(other, "a"), null);
  const next = await acquire(other, "b", { wait: HANG_MS });
  assert(next.fence > dead.fence, `${next.fence} after ${dead.fence}`);
  await next.release();
  await lock.release();
});
