// Deno only: it starts a server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import { acquire, StoreError, tryAcquire } from "@holdfast/lock";
import { etcd, type EtcdOptions, type EtcdStore } from "@holdfast/lock/etcd";
import { EtcdServer } from "../../support/etcd_server.ts";
import { inTime } from "../../support/in_time.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { counting } from "./counting.ts";
import { backendOf, ignore, WAITED } from "./place.ts";
import { refused } from "../../support/refused.ts";

const AUTHENTICATE = "/v3/auth/authenticate";

/** A user that may use the keys under a prefix. */
const APP = { username: "app", password: "secret" };

/** An etcd with authentication, and with that user. */
class ClosedServer implements AsyncDisposable {
  readonly server: EtcdServer;

  private constructor(server: EtcdServer) {
    this.server = server;
  }

  /** Starts it; without `enabled` authentication is not turned on yet. */
  static async start(enabled = true, settings: readonly string[] = []): Promise<ClosedServer> {
    const closed = new ClosedServer(await EtcdServer.start(settings));
    const { server } = closed;
    for (const [name, password] of [["root", "root"], [APP.username, APP.password], ["poor", "secret"]]) {
      await server.call("/v3/auth/user/add", { name, password });
    }
    const [key, end] = [btoa("holdfast/"), btoa("holdfast0")];
    for (const [name, permType] of [["locks", "READWRITE"], ["reader", "READ"]]) {
      await server.call("/v3/auth/role/add", { name });
      await server.call("/v3/auth/role/grant", { name, perm: { permType, key, "range_end": end } });
    }
    await server.call("/v3/auth/role/add", { name: "root" });
    for (const [user, role] of [["root", "root"], ["app", "locks"], ["poor", "reader"]]) {
      await server.call("/v3/auth/user/grant", { user, role });
    }
    if (enabled) await server.call("/v3/auth/enable");
    return closed;
  }

  /** Returns a store of the user. */
  store(options: Partial<EtcdOptions> = APP): EtcdStore {
    return etcd({ endpoints: [this.server.url], ...options });
  }

  /** Returns a token of the user. */
  async token(): Promise<string> {
    return (await this.server.call(AUTHENTICATE, { name: APP.username, password: APP.password })).token;
  }

  /** Invalidates the tokens of the user, as their expiry does, but not the tokens that come after them. */
  async expire(): Promise<void> {
    const token = await this.token();
    const { username: name, password } = APP;
    await this.server.call("/v3/auth/user/changepw", { name, password }, await rootToken(this));
    const look = () => this.server.call("/v3/kv/range", { key: btoa("holdfast/") }, token);
    await assertRejects(look, Error, "invalid auth token");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

function test(name: string, run: (closed: ClosedServer) => Promise<void>, enabled = true): void {
  const fn = async () => {
    await using closed = await ClosedServer.start(enabled);
    await run(closed);
  };
  Deno.test({ name, fn, ignore });
}

test("etcd() asks for one token, whatever calls need it", async (closed) => {
  const { fetch, count } = counting();
  const store = closed.store({ ...APP, fetch });
  const locks = await Promise.all(["a", "b", "c"].map((name) => acquire(store, name)));
  for (const lock of locks) await lock.release();
  assertEquals(count(AUTHENTICATE), 1);
});

test("etcd() renews a token that has expired, once for all calls", async (closed) => {
  const { fetch, count } = counting();
  const store = closed.store({ ...APP, fetch });
  await using lock = await acquire(store, "a", { lease: 60_000 });
  await closed.expire();
  await Promise.all([lock.extend(60_000), store.query(), store.query({ name: "b" })]);
  assertEquals([count(AUTHENTICATE), lock.held], [2, true]);
});

Deno.test({
  name: "etcd() renews a token whose time is over",
  ignore,
  fn: async () => {
    await using closed = await ClosedServer.start(true, ["--auth-token-ttl=1"]);
    const lease = 600_000;
    await using lock = await acquire(closed.store(), "a", { lease });
    const token = await closed.token();
    const look = () => closed.server.call("/v3/kv/range", { key: btoa("holdfast/") }, token);
    // Each look prolongs it, and the server forgets tokens once a second.
    for (let pause = 2_100; await look().then(() => true, () => false); pause += 1_000) await delay(pause);
    await assertRejects(look, Error, "invalid auth token");
    // On a slow machine the time of the next one may be over as well.
    await until(() => lock.extend(lease).then(() => true, () => false), "it is renewed", HANG_MS);
    assert(lock.held);
  },
});

test("etcd() renews a token that the server has forgotten in a restart", async (closed) => {
  const store = closed.store();
  await using lock = await acquire(store, "a", { lease: 60_000 });
  await closed.server.kill();
  await closed.server.start();
  await lock.extend(60_000);
  assert(lock.held);
});

test("etcd() watches with the token of the user", async (closed) => {
  const options = { endpoints: [closed.server.url], ...APP };
  const [writer, backend] = [backendOf(options), backendOf(options)];
  const event = backend.watch("a", "0", new AbortController().signal, WAITED);
  await until(async () => await closed.server.metric("etcd_debugging_mvcc_watcher_total") === 1, "it watches");
  const written = await writer.write("a", "1", "0");
  assert(written.written);
  assertEquals(await inTime(event, HANG_MS, "the event"), { value: "1", version: written.version });
});

test("etcd() with a token of the caller uses that, and asks for no other", async (closed) => {
  const { fetch, count } = counting();
  const store = closed.store({ token: await closed.token(), fetch });
  await (await acquire(store, "a")).release();
  assertEquals(count(AUTHENTICATE), 0);
  await closed.expire();
  await refused(() => tryAcquire(store, "b"), "invalid auth token");
});

test("etcd() with a function asks it for a token when one has expired", async (closed) => {
  let calls = 0;
  const store = closed.store({ token: () => (calls++, closed.token()) });
  await store.query();
  await closed.expire();
  await store.query();
  assertEquals(calls, 2);
});

test("etcd() whose function throws rejects, and asks it again with the next call", async (closed) => {
  let calls = 0;
  const token = () => {
    if (++calls === 1) throw new TypeError("no network");
    return closed.token();
  };
  const store = closed.store({ token });
  await assertRejects(() => store.query(), Error, "token() has failed: no network");
  assertEquals((await store.query()).held, []);
});

test("acquire() rejects at once for a wrong password, and names the command to run", async (closed) => {
  const store = closed.store({ username: "app", password: "wrong" });
  const error = await assertRejects(() => acquire(store, "a"), StoreError, "etcdctl user passwd app");
  assert(error.permanent && !error.message.includes("wrong"), error.message);
  await closed.server.call("/v3/auth/user/changepw", { name: "app", password: "wrong" }, await rootToken(closed));
  await (await acquire(store, "a")).release();
});

test("acquire() rejects at once without a user", async (closed) => {
  await refused(() => acquire(closed.store({}), "a"), "give username and password");
});

test("acquire() rejects at once without the role, and names the command with its range", async (closed) => {
  const poor = closed.store({ username: "poor", password: "secret" });
  const grant = "Run: etcdctl role grant-permission ROLE readwrite --prefix=true ";
  await refused(() => acquire(poor, "a"), `${grant}'holdfast/'`);
  const elsewhere = closed.store({ ...APP, prefix: "other/" });
  await assertRejects(() => acquire(elsewhere, "a"), StoreError, `${grant}'other/'`);
  assertEquals((await closed.store().query()).held, []);
});

test("etcd() logs in once authentication is turned on", async (closed) => {
  const store = closed.store();
  await using lock = await acquire(store, "a");
  await closed.server.call("/v3/auth/enable");
  await lock.extend(30_000);
  assert(lock.held);
}, false);

async function rootToken(closed: ClosedServer): Promise<string> {
  return (await closed.server.call(AUTHENTICATE, { name: "root", password: "root" })).token;
}
