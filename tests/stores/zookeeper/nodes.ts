import { createClient } from "node-zookeeper-client";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, StoreError } from "@holdfast/lock";
import { zookeeper } from "@holdfast/lock/zookeeper";
import { nameOf, nodeOf, orderOf } from "../../../src/stores/zookeeper/node_name.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { until } from "../../support/until.ts";
import { type TestClient, ZookeeperServer } from "../../support/zookeeper_server.ts";
import { answered, ignore, oneServer, Place, test } from "./place.ts";
import { setVersion } from "./snapshot.ts";

/** Names that must not meet, of up to 200 bytes, and longer ones, of which the nodes are called by a hash. */
const NAMES = ["", "\0", ".", "..", "/", "A", "a", "a\0", "a/b", "zookeeper", "é", "€".repeat(66), "🔒", "\ufeff"];
const LONG = ["x".repeat(201), "x".repeat(202), "€".repeat(67)];

test("nodeOf() keeps names apart, in names that ZooKeeper takes", async (place) => {
  const backend = place.backend();
  for (const name of [...NAMES.slice(1), ...LONG]) {
    assertEquals(await backend.write(name, JSON.stringify({ name }), undefined), { written: true, version: 0 });
  }
  const { documents } = await backend.list(1_000);
  assertEquals(documents.map(({ key }) => key).slice(0, NAMES.length - 1), NAMES.slice(1));
  assertEquals(documents.map(({ key }) => key).slice(NAMES.length - 1).sort(), [...LONG].sort());
  const nodes = await answered<[readonly string[]]>((done) => place.client().getChildren(place.path, done));
  assert(nodes[0].includes("YQ") && nodes[0].includes("YS9i") && nodes[0].includes("AA"), `${nodes[0]}`);
});

Deno.test("nodeOf() hashes names of more than 200 bytes", async () => {
  assertEquals(await nodeOf("a?>"), "YT8-");
  assertEquals(await nodeOf("x".repeat(200)), "eHh4".repeat(66) + "eHg");
  for (const name of LONG) {
    const node = await nodeOf(name);
    assert(/^sha256:[\w-]{43}$/.test(node), node);
    assertEquals([nameOf(node), nameOf(node, "no document"), nameOf(node, JSON.stringify({ name }))], [
      undefined,
      undefined,
      name,
    ]);
  }
  for (const name of NAMES) assertEquals(nameOf(await nodeOf(name)), name);
});

Deno.test("orderOf() skips nodes that have no lock", () => {
  for (const node of ["a", "YR", "a b", "/w", "_w"]) {
    assertEquals([orderOf(node), nameOf(node)], [undefined, undefined]);
  }
});

test("ZookeeperBackend lists no nodes of others, and pages in order", async (place) => {
  const backend = place.backend();
  for (const name of ["c", "a", "b"]) await backend.write(name, `${name}!`, undefined);
  await answered((done) => place.client().mkdirp(`${place.path}/no lock`, done));
  const first = await backend.list(2);
  assertEquals(first.documents.map(({ key, value }) => [key, value]), [["a", "a!"], ["b", "b!"]]);
  const second = await backend.list(2, first.cursor);
  assertEquals([second.documents.map(({ key }) => key), second.cursor], [["c"], undefined]);
});

test("ZookeeperBackend removes a node with its version only, and begins anew", async (place) => {
  const backend = place.backend();
  await backend.write("a", "0", undefined);
  assertEquals(await backend.write("a", "1", 0), { written: true, version: 1 });
  assertEquals(await backend.remove("a", 0), false);
  assertEquals(await backend.remove("a", undefined), false);
  assertEquals(await backend.remove("a", 1), true);
  assertEquals(await backend.remove("a", 1), false);
  assertEquals(await backend.write("a", "old", 1), {
    written: false,
    found: { value: undefined, version: undefined },
  });
  assertEquals(await backend.write("a", "new", undefined), { written: true, version: 0 });
  assertEquals(await backend.write("a", "2nd", undefined), {
    written: false,
    found: { value: "new", version: 0 },
  });
});

/** Returns the client, and the versions that are sent with it. */
function versionsOf(client: TestClient): { client: TestClient; versions: number[] } {
  const versions: number[] = [];
  const noting: TestClient = Object.assign(Object.create(client), {
    setData: (...all: Parameters<TestClient["setData"]>) => (versions.push(all[2]), client.setData(...all)),
    remove: (...all: Parameters<TestClient["remove"]>) => (versions.push(all[1]), client.remove(...all)),
    transaction: () => {
      const transaction = client.transaction();
      const remove = transaction.remove.bind(transaction);
      transaction.remove = (path, version) => (versions.push(version), remove(path, version));
      return transaction;
    },
  });
  return { client: noting, versions };
}

Deno.test({
  name: "ZookeeperBackend never sends the version -1, which means any",
  ignore,
  async fn() {
    await using server = await ZookeeperServer.start();
    await using place = Place.open(server.address);
    await setVersion(server, place, { "a": -3, "b": -1 });
    const { client, versions } = versionsOf(place.client());
    const backend = place.backend(client);
    assertEquals(await backend.read("a"), { value: "a", version: -3 });
    assertEquals(await backend.write("a", "1", -3), { written: true, version: -2 });
    assertEquals(await backend.write("a", "late", -3), { written: false, found: { value: "1", version: -2 } });
    assertEquals(await backend.write("a", "2", -2), { written: true, version: 0 });
    assertEquals(await backend.write("a", "late", -2), { written: false, found: { value: "2", version: 0 } });
    assertEquals(await backend.write("a", "3", 0), { written: true, version: 1 });
    const error = await assertRejects(() => backend.write("b", "any", -1), StoreError, "The version of the node");
    assert(error.permanent);
    assertEquals(await backend.remove("b", -1), false);
    assertEquals(await backend.read("b"), { value: "b", version: -1 });
    assertEquals(versions, [-3, -3, -2, -2, 0]);
  },
});

test("ZookeeperBackend finds another version with what is executed late", async (place) => {
  await using proxy = await TcpProxy.start(oneServer().port);
  const late = place.backend(place.client(`127.0.0.1:${proxy.port}`));
  const other = place.backend();
  await late.write("a", "one", undefined);
  const held = proxy.holdRequest("too late");
  const answer = late.write("a", "too late", 0);
  await held;
  assertEquals(await other.write("a", "two", 0), { written: true, version: 1 });
  proxy.resume();
  assertEquals(await answer, { written: false, found: { value: "two", version: 1 } });
});

test("ZookeeperBackend does not know what was done when the connection is lost", async (place) => {
  await using proxy = await TcpProxy.start(oneServer().port);
  const backend = place.backend(place.client(`127.0.0.1:${proxy.port}`));
  await backend.write("a", "one", undefined);
  const lost = proxy.loseReply("it was done");
  const answer = assertRejects(() => backend.write("a", "it was done", 0), Error, "CONNECTION_LOSS");
  await lost;
  assert(!(await answer instanceof StoreError), "not known to have done nothing");
  assertEquals(await backend.read("a"), { value: "it was done", version: 1 });
});

Deno.test({
  name: "ZookeeperBackend sends nothing later that was called while it was not connected",
  ignore,
  async fn() {
    await using server = await ZookeeperServer.start();
    await using place = Place.open(server.address);
    const client = place.client();
    const backend = place.backend(client);
    await backend.write("a", "one", undefined);
    await server.kill();
    await until(() => client.getState().getCode() !== 3, "the client is disconnected");
    const calls = [() => backend.read("a"), () => backend.write("a", "two", 0), () => backend.list(9)];
    for (const call of calls) {
      const error = await assertRejects(call, StoreError, "has not been connected to ZooKeeper for 1500 ms");
      assertEquals(error.permanent, false);
    }
    await server.start();
    // One that connects to a server that only begins may be stuck.
    await until(() => backend.read("a").then(() => true, () => false), "the client is connected again", 60_000);
    assertEquals(await backend.read("a"), { value: "one", version: 0 });
  },
});

test("acquire() on ZooKeeper says that a client was never connected", async (place) => {
  const backend = place.backend(createClient(place.address));
  await assertRejects(() => backend.read("a"), StoreError, "Was connect() called?");
});

test("ZookeeperBackend.read() that fails leaves nothing behind of its two requests", async (place) => {
  const client = createClient(place.address);
  // They begin to wait for the connection at different times, and give up so.
  const slow: TestClient = Object.assign(Object.create(client), {
    getState() {
      for (const began = performance.now(); performance.now() - began < 20;);
      return client.getState();
    },
  });
  await assertRejects(() => place.backend(slow).read("a"), StoreError, "Was connect() called?");
});

test("acquire() on ZooKeeper is not told that a lock is held that another one released", async (place) => {
  const stores = [await place.store(), await place.store()];
  for (let turn = 0; turn < 20; turn++) {
    const lock = await acquire(stores[turn % 2]!, "a", { wait: 0 });
    await lock.release();
  }
});

test("acquire() on ZooKeeper sends one request, as do a renewal and a release", async (place) => {
  const client = place.client();
  const store = zookeeper(client, { path: place.path });
  await (await acquire(store, "a")).release();
  const sent: unknown[] = [];
  const { queue } = client.connectionManager;
  client.connectionManager.queue = (request, done) => {
    sent.push(request);
    queue.call(client.connectionManager, request, done);
  };
  const lock = await acquire(store, "a");
  assertEquals(sent.splice(0).length, 1);
  await lock.extend(20_000);
  assertEquals(sent.splice(0).length, 1);
  await lock.release();
  assertEquals(sent.splice(0).length, 1);
  const other = zookeeper(client, { path: place.path });
  await (await acquire(other, "a")).release();
  // A sync and a read, which are one trip, then both writes.
  assertEquals(sent.length, 4);
});
