import { createHash } from "node:crypto";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { acquire, StoreError } from "@holdfast/lock";
import { storeSuite } from "@holdfast/testing";
import { zookeeper, type ZookeeperAcl } from "@holdfast/lock/zookeeper";
import { SystemClock } from "../../../src/time/clock.ts";
import { CasStore } from "../../../src/engine/store.ts";
import { parseServers } from "../../../src/stores/zookeeper/servers.ts";
import { ZookeeperSession } from "../../../src/stores/zookeeper/session.ts";
import { ZookeeperBackend } from "../../../src/stores/zookeeper/store.ts";
import { NodeWatches } from "../../../src/stores/zookeeper/watch.ts";
import { DenoProcess } from "../../support/deno_process.ts";
import { patient } from "../../support/patient.ts";
import { freePort } from "../../support/free_port.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { until } from "../../support/until.ts";
import { backendSuite } from "../../engine/backend_suite.ts";
import { answered, answers, ignore, oneServer, Place, threeServers } from "./place.ts";

/** Returns a session of our own. */
function sessionOf(address: string, auth?: string): ZookeeperSession {
  return new ZookeeperSession(parseServers(address, auth));
}

function storeOf(session: ZookeeperSession, path: string): CasStore {
  const backend = new ZookeeperBackend(session, path);
  return new CasStore(backend, { maxClockSkew: 10_000, observer: undefined }, new SystemClock());
}

storeSuite({
  test: (name, fn) => Deno.test({ name: `zookeeper() of a text, on three servers: ${name}`, fn, ignore }),
  capabilities: ["shared", "permits", "owner", "steal", "evict", "query", "fences", "runs"],
  open: () => {
    const place = Place.open(threeServers().address);
    const sessions: ZookeeperSession[] = [];
    return {
      connect: async () => {
        const session = sessionOf(place.address);
        sessions.push(session);
        await answers(() => session.sync());
        return patient(storeOf(session, place.path));
      },
      leftovers: () => place.used(),
      close: async () => {
        for (const session of sessions) session.end();
        await place[Symbol.asyncDispose]();
      },
    };
  },
});

/** Defines a test with a path of its own, and what makes sessions that are ended after it. */
function test(
  name: string,
  run: (place: Place, open: (address?: string, auth?: string) => ZookeeperSession) => Promise<void>,
): void {
  const fn = async () => {
    await using place = Place.open();
    const sessions: ZookeeperSession[] = [];
    try {
      await run(place, (address, auth) => {
        const session = sessionOf(address ?? place.address, auth);
        sessions.push(session);
        return session;
      });
    } finally {
      for (const session of sessions) session.end();
    }
  };
  Deno.test({ name, fn, ignore });
}

test("ZookeeperSession reads and writes what the other client reads and writes", async (place, open) => {
  const [own, other] = [new ZookeeperBackend(open(), place.path), place.backend()];
  const large = "€\0".repeat(200_000);
  for (const text of ["", "a", large]) {
    const written = await own.write(`name ${text.length}`, text, undefined);
    assertEquals(written, { written: true, version: 0 });
    assertEquals(await other.read(`name ${text.length}`), { value: text, version: 0 });
    assertEquals(await other.write(`name ${text.length}`, `${text}b`, 0), { written: true, version: 1 });
    assertEquals(await own.read(`name ${text.length}`), { value: `${text}b`, version: 1 });
    assertEquals((await own.write(`name ${text.length}`, "", 0)).written, false);
  }
});

backendSuite<number | undefined>((what, run) => {
  test(`ZookeeperSession ${what}`, (place, open) => {
    return run(async () => {
      const session = open();
      await answers(() => session.sync());
      return new ZookeeperBackend(session, place.path);
    });
  });
});

test("ZookeeperSession makes and removes nodes in one transaction, or does neither", async (place, open) => {
  const session = open();
  await place.backend().write("a", "1", undefined);
  const path = await place.nodeOf("a");
  const [acl] = await session.call<[ZookeeperAcl[]]>((client, done) => client.getACL(path, done));
  const remake = (version: number) =>
    session.call<[]>((client, done) => {
      const transaction = client.transaction();
      transaction.remove(path, version);
      transaction.create(path, session.bufferOf("2"), acl);
      transaction.commit(done);
    });
  await assertRejects(() => remake(7), Error, "the code -103");
  assertEquals(await place.backend().read("a"), { value: "1", version: 0 });
  await remake(0);
  assertEquals(await place.backend().read("a"), { value: "2", version: 0 });
});

test("ZookeeperSession is told what happened in a cut, with 2 MB of watches", async (place, open) => {
  await using proxy = await TcpProxy.start(oneServer().port);
  const session = open(`127.0.0.1:${proxy.port}`);
  const watches = new NodeWatches(session);
  const { signal } = new AbortController();
  const end = session.use();
  const [present, absent] = [await place.nodeOf("a"), await place.nodeOf("b")];
  const backend = place.backend();
  await backend.write("a", "1", undefined);
  const paths = Array.from({ length: 8_000 }, (_, i) => `${place.path}/${String(i).padEnd(250, "x")}`);
  await session.sync();
  for (const [i, path] of paths.entries()) {
    watches.changed(path, undefined, signal).catch(() => {});
    // Each request has a limit of its own, and a slow server does not answer thousands in that time.
    if (i % 500 === 0) await session.sync();
  }
  const told = [watches.changed(present, 0, signal), watches.changed(absent, undefined, signal)];
  // The answer comes after all watches were set.
  await session.call<[object | null]>((client, done) => client.exists(present, () => {}, done));
  proxy.redirect(freePort());
  await backend.write("a", "2", 0);
  await backend.write("b", "1", undefined);
  proxy.redirect(oneServer().port);
  await Promise.all(told);
  end();
});

test("ZookeeperSession goes on after an answer that was cut, and loses none of its own", async (place, open) => {
  await using proxy = await TcpProxy.start(oneServer().port);
  const session = open(`127.0.0.1:${proxy.port}`);
  const backend = new ZookeeperBackend(session, place.path);
  await backend.write("a", "x".repeat(5_000), undefined);
  const cut = proxy.loseReply(await place.nodeOf("a"), 100);
  await Promise.all([cut, assertRejects(() => backend.read("a"), Error, "CONNECTION_LOSS")]);
  assertEquals((await backend.read("a")).value, "x".repeat(5_000));
});

test("ZookeeperSession leaves a server that does not answer, and one that is gone", async (place, open) => {
  await using proxy = await TcpProxy.start(oneServer().port);
  // Nothing listens on the first port, or the second one is silent.
  const session = open(`127.0.0.1:1,127.0.0.1:${proxy.port},${place.address}`);
  const backend = new ZookeeperBackend(session, place.path);
  await until(() => backend.write("a", "1", undefined).then(() => true, () => false), "a server is found");
  proxy.stall();
  for (let i = 0; i < 3; i++) {
    await until(() => backend.read("a").then(({ value }) => value === "1", () => false), "it is read");
    session.end();
  }
});

test("ZookeeperSession gives its user's name, and says who is not known", async (place, open) => {
  const session = open(place.address, "app:secret");
  const backend = new ZookeeperBackend(session, place.path);
  await backend.write("made first", "1", undefined);
  const digest = createHash("sha1").update("app:secret").digest("base64");
  const acl = [{ permission: 31, id: { scheme: "digest", id: `app:${digest}` } }];
  await session.call<[]>((client, done) => client.create(`${place.path}x`, session.bufferOf(""), acl, done));
  await (await acquire(storeOf(session, `${place.path}x`), "a", { wait: 0 })).release();
  const other = storeOf(open(place.address, "app:wrong"), `${place.path}x`);
  const error = await assertRejects(() => acquire(other, "a"), StoreError, "NO_AUTH");
  assert(error.permanent);
});

test("ZookeeperSession takes a chroot, and says that it does not exist", async (place, open) => {
  await answered((done) => place.client().mkdirp(`${place.path}/app`, done));
  const store = storeOf(open(`${place.address}${place.path}/app/`), "/holdfast");
  await using lock = await acquire(store, "a");
  assertEquals((await store.query!()).held.map(({ name }) => name), [lock.name]);
  const other = new ZookeeperBackend(place.client(), `${place.path}/app/holdfast`);
  assertEquals((await other.list(9)).documents.map(({ key }) => key), ["a"]);
  const nowhere = storeOf(open(`${place.address}${place.path}/nowhere`), "/holdfast");
  await assertRejects(() => acquire(nowhere, "a"), StoreError, "The chroot of the client does not exist");
});

test("zookeeper() of a text keeps a process alive that waits, and no holder", async (place) => {
  const program = import.meta.resolve("./text_process.ts");
  await using holder = new DenoProcess(program, place.address, place.path, "hold");
  assertEquals(await holder.output(), "held");
  await using waiter = new DenoProcess(program, place.address, place.path, "wait");
  assertEquals(await waiter.output(), "granted");
});

Deno.test("parseServers() reads what clients of ZooKeeper take", () => {
  const of = (text: string) => {
    const { servers, chroot } = parseServers(text, undefined);
    return [servers.map(({ host, port }) => `${host} ${port}`).join(), chroot];
  };
  assertEquals(of("zk1"), ["zk1 2181", ""]);
  assertEquals(of("zk1:1, zk2:2"), ["zk1 1,zk2 2", ""]);
  assertEquals(of("[::1]:7/a/b/"), ["::1 7", "/a/b"]);
  for (const text of ["", ",", "zk1:", "zk1:0", "zk1:65536", "a b", "::1", "zk1,,zk2", "zookeeper://zk1"]) {
    assertThrows(() => parseServers(text, undefined), TypeError, 'the servers must be like "zk1:2181,zk2:2181/app"');
  }
});

Deno.test("zookeeper() throws for a user that is none, or that is the client's", () => {
  for (const auth of ["", "user", 7]) {
    assertThrows(() => zookeeper("zk1", { auth: auth as string }), TypeError, 'auth must be "user:password"');
  }
});
