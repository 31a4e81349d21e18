import { createClient } from "node-zookeeper-client";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, StoreError } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { zookeeper } from "@holdfast/lock/zookeeper";
import { DIRECTORIES, isLock, nameOf, nodeOf } from "../../../src/stores/zookeeper/node_name.ts";
import { backendSuite } from "../../engine/backend_suite.ts";
import { assertEndsAtOnce } from "../../handoff/objects.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { until } from "../../support/until.ts";
import { type TestClient, ZookeeperServer } from "../../support/zookeeper_server.ts";
import { answered, answers, oneServer, Place, test } from "./place.ts";
import { setVersion } from "./snapshot.ts";
import { refused } from "../../support/refused.ts";

/** Names that must not meet, of up to 200 bytes, and longer ones, of which the nodes are called by a hash. */
const NAMES = ["", "\0", ".", "..", "/", "A", "a", "a\0", "a/b", "zookeeper", "é", "€".repeat(66), "🔒", "\ufeff"];
const LONG = ["x".repeat(201), "x".repeat(202), "€".repeat(67)];

test("nodeOf() gives the name that a node has", async (place) => {
  const backend = place.backend();
  for (const [name, node] of [["a", "V/o/YQ"], ["a/b", "E/x/YS9i"], ["\0", "I/V/AA"]] as const) {
    assert((await backend.write(name, JSON.stringify({ name }), undefined)).written);
    await answered((done) => place.client().getData(`${place.path}/${node}`, done));
    assertEquals(nameOf(node.slice(4)), name);
  }
});

/** Returns the name of a node without its directories. */
async function ownNodeOf(name: string): Promise<string> {
  return (await nodeOf(name)).slice("a/b/".length);
}

Deno.test("nodeOf() spreads a million names over directories, a few hundred in each", async () => {
  assertEquals([DIRECTORIES.length, ...DIRECTORIES], [64, ...new Set(DIRECTORIES.toSorted())]);
  const names = { "numbers": (i: number) => `invoice:${i}`, "ids": () => `invoice:${crypto.randomUUID()}` };
  for (const [kind, name] of Object.entries(names)) {
    const counts = new Map<string, number>();
    // One of 20, as hashing takes its time.
    for (let i = 0; i < 1_000_000; i += 20) {
      const directory = (await nodeOf(name(i))).slice(0, 3);
      counts.set(directory, (counts.get(directory) ?? 0) + 20);
    }
    const outer = Map.groupBy(counts.keys(), ([first]) => first);
    assertEquals([outer.size, counts.size > 4_000], [64, true], kind);
    assert(Math.max(...counts.values()) < 900, `${kind}: ${Math.max(...counts.values())}`);
  }
});

Deno.test("nodeOf() hashes names of more than 200 bytes", async () => {
  assertEquals(await ownNodeOf("a?>"), "YT8-");
  assertEquals(await ownNodeOf("x".repeat(200)), "eHh4".repeat(66) + "eHg");
  for (const name of LONG) {
    const node = await ownNodeOf(name);
    assert(/^sha256:[\w-]{43}$/.test(node), node);
    assertEquals([nameOf(node), nameOf(node, "no document"), nameOf(node, JSON.stringify({ name }))], [
      undefined,
      undefined,
      name,
    ]);
  }
  for (const name of NAMES.slice(1)) assertEquals(nameOf(await ownNodeOf(name)), name);
});

Deno.test("isLock() skips nodes that have no lock", () => {
  for (const node of ["a", "YR", "a b", "/w", "_w", ":"]) {
    assertEquals([isLock(node), nameOf(node)], [false, undefined]);
  }
});

test("ZookeeperBackend lists no nodes of others, and each lock once", async (place) => {
  const backend = place.backend();
  const names = Array.from({ length: 300 }, (_, i) => `name ${i}`);
  await Promise.all(["", ...names].map((name) => backend.write(name, `${name}!`, undefined)));
  const node = await place.nodeOf("name 7");
  // Of another layout, beside directories, in them, and below a lock.
  for (const other of [`${place.path}/YQ`, `${place.path}/no lock`, node.replace(/[^/]*$/, "no lock"), `${node}/YQ`]) {
    await answered((done) => place.client().mkdirp(other, done));
  }
  for (const limit of [7, 299, 300, 301, 1_000]) {
    const listed: (readonly [string, string | undefined])[] = [];
    let cursor: string | undefined;
    do {
      const page = await backend.list(limit, cursor);
      assert(page.documents.length <= limit);
      listed.push(...page.documents.map(({ key, value }) => [key, value] as const));
      cursor = page.cursor;
    } while (cursor !== undefined);
    assertEquals(listed.toSorted(), names.map((name) => [name, `${name}!`] as const).toSorted());
  }
  for (const cursor of ["YQ", "a/b/", "a/b/c/d", "a/b/c d", "../zookeeper"]) {
    await assertRejects(() => backend.list(1, cursor), RangeError, "cursor must be one that query() has returned");
  }
});

test("ZookeeperBackend makes the directories of many names at the same time", async (place) => {
  const [one, other] = [place.backend(), place.backend()];
  const names = Array.from({ length: 100 }, (_, i) => `name ${i}`);
  const written = await Promise.all(
    names.flatMap((name) => [one, other].map((backend) => backend.write(name, "1", undefined))),
  );
  assertEquals(written.filter(({ written }) => written).length, names.length);
});

backendSuite<number | undefined>((what, run) => {
  test(`ZookeeperBackend ${what}`, (place) => run(() => place.backend()));
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

test("ZookeeperBackend never sends the version -1, which means any", async () => {
  await using server = await ZookeeperServer.start();
  await using place = Place.open(server.address);
  await setVersion(server, place, { "a": -3, "b": -1 });
  const { client, versions } = versionsOf(place.client());
  const backend = place.backend(client);
  assertEquals(await answers(() => backend.read("a")), { value: "a", version: -3 });
  assertEquals(await backend.write("a", "1", -3), { written: true, version: -2 });
  assertEquals(await backend.write("a", "late", -3), { written: false, found: { value: "1", version: -2 } });
  assertEquals(await backend.write("a", "2", -2), { written: true, version: 0 });
  assertEquals(await backend.write("a", "late", -2), { written: false, found: { value: "2", version: 0 } });
  assertEquals(await backend.write("a", "3", 0), { written: true, version: 1 });
  await refused(() => backend.write("b", "any", -1), "The version of the node");
  assertEquals(await backend.remove([{ key: "b", version: -1 }]), 0);
  assertEquals(await backend.read("b"), { value: "b", version: -1 });
  assertEquals(versions, [-3, -3, -2, -2, 0]);
});

test("ZookeeperBackend takes a reply without a version for no answer", async (place) => {
  const client = place.client();
  const backend = place.backend(client);
  await answers(() => backend.write("a", "one", undefined));
  const { getData, setData } = client;
  // The client calls back with neither an error nor a result.
  client.setData = (path, data, version, done) =>
    setData.call(client, path, data, version, (error) => done(error, undefined as never));
  await assertRejects(() => backend.write("a", "two", 0), Error, "without the version of the node");
  assertEquals(await place.backend().read("a"), { value: "two", version: 1 });
  client.getData = (path, done) => getData.call(client, path, (error) => done(error, undefined, undefined as never));
  const error = await assertRejects(() => backend.read("a"), Error, "without the version of the node");
  assert(!(error instanceof StoreError) && !(error instanceof TypeError));
});

test("ZookeeperBackend finds another version with what is executed late", async (place) => {
  await using proxy = await TcpProxy.start(oneServer().port);
  const late = place.backend(place.client(`127.0.0.1:${proxy.port}`));
  const other = place.backend();
  await answers(() => late.write("a", "one", undefined));
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
  await answers(() => backend.write("a", "one", undefined));
  const lost = proxy.loseReply("it was done");
  const answer = assertRejects(() => backend.write("a", "it was done", 0), Error, "CONNECTION_LOSS");
  await lost;
  assert(!(await answer instanceof StoreError), "not known to have done nothing");
  assertEquals(await backend.read("a"), { value: "it was done", version: 1 });
});

test("ZookeeperBackend sends nothing later that was called while it was not connected", async () => {
  await using server = await ZookeeperServer.start();
  await using place = Place.open(server.address);
  const client = place.client();
  const backend = place.backend(client);
  await answers(() => backend.write("a", "one", undefined));
  await server.kill();
  await until(() => client.getState().getCode() !== 3, "the client is disconnected");
  const calls = [() => backend.read("a"), () => backend.write("a", "two", 0), () => backend.list(9)];
  for (const call of calls) {
    await refused(call, "has not been connected to ZooKeeper for 1500 ms", false);
  }
  await server.start();
  // One that connects to a server that only begins may be stuck.
  await until(() => backend.read("a").then(() => true, () => false), "the client is connected again", 60_000);
  assertEquals(await backend.read("a"), { value: "one", version: 0 });
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

test("acquire() on ZooKeeper sends one request, as do a renewal and a release", async (place) => {
  const client = place.client();
  const store = zookeeper(client, { path: place.path });
  await (await acquire(store, "a")).release();
  const sent: unknown[] = [];
  const { queue } = client.connectionManager;
  client.connectionManager.queue = (request, done) => {
    // Nobody waits for a timer.
    if (!`${(request as { payload?: { path?: string } }).payload?.path}`.endsWith(":clock")) sent.push(request);
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

test("steal and evict() end at once what any zookeeper() of the same client hands on", async (place) => {
  const client = place.client();
  const store = () => zookeeper(client, { path: place.path });
  await using made = cohort(store(), { keep: 60_000 });
  await assertEndsAtOnce([["zookeeper()", store()], ["a cohort of another one", made]], store());
});
