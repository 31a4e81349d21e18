// Deno only: it starts a server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type Store, StoreError, tryAcquire } from "@holdfast/lock";
import { etcd } from "@holdfast/lock/etcd";
import { backendSuite } from "../../engine/backend_suite.ts";
import { EtcdServer } from "../../support/etcd_server.ts";
import { freePort } from "../../support/free_port.ts";
import { counting } from "./counting.ts";
import { Place, test } from "./place.ts";

Place.serve();

test("etcd() sends nothing before the first call", async (place) => {
  const { fetch, bodies } = counting();
  const store = place.store({ fetch });
  assertEquals(bodies, []);
  await store.query();
  assertEquals(bodies.length, 1);
});

test("acquire() takes two trips, then one; a renewal and a release take one each", async (place) => {
  const { fetch, bodies } = counting();
  const store = place.store({ fetch });
  const key = btoa(`${place.prefix}a`);
  // Nobody waits for a timer.
  const sent = () => bodies.splice(0).filter((body) => body.includes(key)).length;
  const trips: number[] = [];
  for (let turn = 0; turn < 2; turn++) {
    const lock = await acquire(store, "a");
    trips.push(sent());
    await lock.extend(30_000);
    trips.push(sent());
    await lock.release();
    trips.push(sent());
  }
  assertEquals(trips, [2, 1, 1, 1, 1, 1]);
});

backendSuite<string>((what, run) => test(`EtcdBackend ${what}`, (place) => run(() => place.backend())));

test("remove() lets no version come back", async (place) => {
  const backend = place.backend();
  const first = await backend.write("a", "1", "0");
  assert(first.written);
  assertEquals(await backend.remove([{ key: "a", version: first.version }]), 1);
  const second = await backend.write("a", "1", "0");
  assert(second.written && second.version !== first.version);
});

test("list() gives all keys under the prefix, on pages, and none beside them", async (place) => {
  const backend = place.backend();
  for (const name of ["a", "b", "\u{10ffff}"]) await backend.write(name, name, "0");
  const beside = place.prefix.slice(0, -1);
  // No text: what timers are called.
  const strange = btoa(`${place.prefix}\xff\xfe`);
  const [server] = Place.cluster.members;
  for (const key of [btoa(beside), btoa(`${beside}0`), strange]) {
    await server!.call("/v3/kv/put", { key, value: btoa("x") });
  }
  const keys: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await backend.list(1, cursor);
    keys.push(...page.documents.map(({ key }) => key));
    cursor = page.cursor;
  } while (cursor !== undefined);
  assertEquals(keys, ["a", "b", "\u{10ffff}"]);
});

test("query() lists no key that is no lock, and throws for a cursor that is none", async (place) => {
  const store = place.store();
  const lock = await acquire(store, "a");
  await Place.cluster.members[0]!.call("/v3/kv/put", { key: btoa(`${place.prefix}b`), value: btoa("x") });
  assertEquals((await store.query()).held.map(({ name }) => name), ["a"]);
  for (const cursor of ["€", btoa("a key of another program")]) {
    await assertRejects(() => store.query({ cursor }), RangeError, "cursor must be one that query() has returned");
  }
  await lock.release();
});

test("etcd() with another prefix has other locks", async (place) => {
  await using lock = await acquire(place.store(), "a");
  await using other = await tryAcquire(place.store({ prefix: `${place.prefix}more/` }), "a");
  assert(other !== null && lock.held);
});

/** Starts an HTTP server that answers each request in this way. */
function serving(answer: () => Response): { readonly url: string } & AsyncDisposable {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);
  return { url: `http://127.0.0.1:${server.addr.port}`, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** Resolves to the error of a store that cannot acquire. */
async function failing(store: Store): Promise<StoreError> {
  return await assertRejects(() => acquire(store, "a", { lease: 2_000 }), StoreError);
}

Deno.test("acquire() rejects at once where something else answers than etcd", async () => {
  const answers = [
    () => new Response("<h1>Welcome</h1>\nto nginx"),
    () => new Response("404 page not found", { status: 404 }),
    () => Response.json({ hello: "world" }),
    () => Response.json(["an array"]),
    () => Response.json(null),
    () => new Response("Client sent an HTTP request to an HTTPS server.", { status: 400 }),
  ];
  for (const answer of answers) {
    await using server = serving(answer);
    const { permanent, message } = await failing(etcd({ endpoints: [server.url] }));
    assert(permanent && message.includes(`${server.url} does not answer as etcd does: `), message);
    assert(message.includes("with its gateway turned on (--enable-grpc-gateway)?"), message);
  }
});

Deno.test("query() rejects with a plain error where a proxy says that the server is down", async () => {
  await using server = serving(() => new Response("Bad Gateway", { status: 502 }));
  const error = await assertRejects(() => etcd({ endpoints: [server.url] }).query(), Error, '502 "Bad Gateway"');
  assert(!(error instanceof StoreError));
});

Deno.test("query() rejects with a StoreError where no member can be reached", async () => {
  const endpoints = [freePort(), freePort()].map((port) => `http://127.0.0.1:${port}`);
  const { permanent, message } = await assertRejects(() => etcd({ endpoints }).query(), StoreError, "refused");
  assert(!permanent && message.startsWith(`${endpoints[1]}: `), message);
});

test("acquire() rejects at once where the gateway is turned off", async () => {
  await using server = new EtcdServer(["--enable-grpc-gateway=false"]);
  const store = etcd({ endpoints: [server.url] });
  // Not start(), which asks over the gateway.
  server.spawn();
  for (;;) {
    const { permanent, message } = await failing(store);
    if (!permanent) continue;
    assert(message.includes("--enable-grpc-gateway") && message.includes("404"), message);
    break;
  }
});
