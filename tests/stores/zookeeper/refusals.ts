import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { ACL, Id, Permission } from "node-zookeeper-client";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { acquire, type Lock, StoreError } from "@holdfast/lock";
import { zookeeper, type ZookeeperAcl } from "@holdfast/lock/zookeeper";
import { until } from "../../support/until.ts";
import { isConnected, type TestClient } from "../../support/zookeeper_server.ts";
import { answered, type Place, test } from "./place.ts";
import { refused } from "../../support/refused.ts";

const { READ, WRITE, CREATE, DELETE, ADMIN, ALL } = Permission;

/** Returns a client that has said who it is. */
async function clientOf(place: Place, user: string): Promise<TestClient> {
  const client = place.client();
  client.addAuthInfo("digest", Buffer.from(`${user}:secret`));
  // What is asked before is sent first.
  await until(() => isConnected(client), "it is connected");
  return client;
}

/** Makes the path of a place, with all rights for an administrator and some for others. */
async function makePath(place: Place, rights: readonly (readonly [user: string, permission: number])[]): Promise<void> {
  const admin = await clientOf(place, "admin");
  const digest = (user: string) => `${user}:${createHash("sha1").update(`${user}:secret`).digest("base64")}`;
  const acl = rights.map(([user, permission]) => {
    return new ACL(permission, user === "anyone" ? new Id("world", "anyone") : new Id("digest", digest(user)));
  });
  const all = [new ACL(ALL, new Id("digest", digest("admin"))), ...acl];
  await answered((done) => admin.create(place.path, admin.getSessionId(), all, done));
}

/** Removes a node, and those below it. */
async function removeAll(client: TestClient, path: string): Promise<void> {
  const [nodes] = await answered<[readonly string[]]>((done) => client.getChildren(path, done));
  for (const node of nodes) await removeAll(client, `${path}/${node}`);
  await answered((done) => client.remove(path, -1, done));
}

/** Does with a lock what programs do, and what removes old nodes. Resolves to whether all was permitted. */
async function useOf(place: Place, client: TestClient): Promise<string> {
  // A call without a wait gives up soon.
  await until(() => isConnected(client), "it is connected");
  const store = zookeeper(client, { path: place.path });
  const backend = place.backend(client);
  let lock: Lock | undefined;
  try {
    lock = await acquire(store, "a", { wait: 0, lease: 10_000 });
    await lock.extend(10_000);
    await store.query();
    await lock.release();
    await backend.remove([{ key: "a", version: (await backend.read("a")).version }]);
    return "permitted";
  } catch (error) {
    assert(error instanceof StoreError && error.permanent, `${error}`);
    await lock?.release().catch(() => {});
    await until(() => !lock?.held, "it is released, or its lease has ended");
    return error.message;
  }
}

test("acquire() on ZooKeeper without rights rejects at once, and does nothing", async (place) => {
  await makePath(place, []);
  await refused(
    () => acquire(zookeeper(place.client(), { path: place.path }), "a"),
    "(NO_AUTH). It needs READ, WRITE, CREATE, DELETE and ADMIN (cdrwa)",
  );
  const admin = await clientOf(place, "admin");
  const [nodes] = await answered<[readonly string[]]>((done) => admin.getChildren(place.path, done));
  assertEquals(nodes, []);
});

for (const [missing, permission] of Object.entries({ READ, WRITE, CREATE, DELETE, ADMIN })) {
  test(`acquire() on ZooKeeper says what is needed without ${missing}`, async (place) => {
    await makePath(place, [["app", ALL - permission]]);
    const says = missing === "ADMIN" ? "the client needs ADMIN (a) on" : "(NO_AUTH). It needs";
    const message = await useOf(place, await clientOf(place, "app"));
    assert(message.includes(says), message);
  });
}

test("acquire() on ZooKeeper says what is needed without ADMIN where anyone may read", async (place) => {
  await makePath(place, [["app", ALL - ADMIN], ["anyone", READ]]);
  const message = await useOf(place, await clientOf(place, "app"));
  assert(message.includes("the client needs ADMIN (a) on"), message);
});

test("acquire() on ZooKeeper gives the nodes of locks the rights of the path", async (place) => {
  await makePath(place, [["app", ALL], ["other", READ]]);
  assertEquals(await useOf(place, await clientOf(place, "app")), "permitted");
  const client = await clientOf(place, "app");
  await using _lock = await acquire(zookeeper(client, { path: place.path }), "a");
  const node = await place.nodeOf("a");
  const directories = [node.replace(/\/[^/]*$/, ""), node.replace(/\/[^/]*\/[^/]*$/, "")];
  const [given, ...lists] = await Promise.all([place.path, node, ...directories].map((path) => {
    return answered<[ZookeeperAcl[]]>((done) => client.getACL(path, done));
  }));
  for (const [acl] of lists) assertEquals(JSON.stringify(acl), JSON.stringify(given![0]));
  assertEquals([given![0].length, lists.length], [3, 3]);
});

test("acquire() on ZooKeeper gives nodes the rights of a path that was made anew", async (place) => {
  await makePath(place, [["app", ALL]]);
  const [client, admin] = [await clientOf(place, "app"), await clientOf(place, "admin")];
  const backend = place.backend(client);
  await backend.write("a", "1", undefined);
  await backend.remove([{ key: "a", version: 0 }]);
  await removeAll(admin, place.path);
  // The store makes the path again, for everybody.
  await backend.write("b", "1", undefined);
  const node = await place.nodeOf("b");
  const [acl] = await answered<[ZookeeperAcl[]]>((done) => client.getACL(node, done));
  assertEquals(acl.map(({ id: { scheme } }) => scheme), ["world"]);
});

test("acquire() on ZooKeeper needs no ADMIN where everybody has the rights", async (place) => {
  const admin = await clientOf(place, "admin");
  const acl = [new ACL(READ + WRITE + CREATE + DELETE, new Id("world", "anyone"))];
  await answered((done) => admin.create(place.path, admin.getSessionId(), acl, done));
  assertEquals(await useOf(place, place.client()), "permitted");
});

test("acquire() on ZooKeeper rejects at once for an authentication that is not known", async (place) => {
  const client = place.client();
  client.addAuthInfo("unknown", Buffer.from("a"));
  await refused(() => acquire(zookeeper(client, { path: place.path }), "a"));
});

test("acquire() on ZooKeeper rejects at once where the chroot does not exist", async (place) => {
  const client = place.client(`${place.address}${place.path}/nowhere`);
  const store = zookeeper(client);
  await refused(() => acquire(store, "a"), "The chroot of the client does not exist");
  assertEquals(await store.query(), { held: [], pending: [] });
});

test("zookeeper() throws for what is no client of node-zookeeper-client", () => {
  // The second one is like a client of the npm package `zookeeper`.
  const method = () => {};
  for (
    const wrong of [undefined, { connect: method, on: method, get: method, set: method, create: method }, 2181]
  ) {
    assertThrows(() => zookeeper(wrong as never), TypeError, "client must be one of node-zookeeper-client");
  }
  return Promise.resolve();
});

test("zookeeper() throws for a wrong option", (place) => {
  const client = place.client();
  assertThrows(() => zookeeper(client, { prefix: "a" } as never), TypeError, '"prefix": known are path');
  assertThrows(() => zookeeper(client, { path: 7 as never }), TypeError, "path must be a string: got 7");
  for (const path of ["", "/", "a", "/a/", "//a", "/a//b", "/.", "/a/..", "/a\0", "/zookeeper", "/zookeeper/config"]) {
    assertThrows(() => zookeeper(client, { path }), RangeError, "path must be that of a node");
  }
  for (const path of ["/a", "/a/b", "/...", "/é€", "/zookeepers"]) zookeeper(client, { path });
  const skewed = { maxClockSkew: 5_000 } as never;
  assertThrows(() => zookeeper(client, skewed), TypeError, "maxClockSkew must be left out: timers of the server");
  assertThrows(() => zookeeper(client, { observer: 7 as never }), TypeError, "observer");
  return Promise.resolve();
});
