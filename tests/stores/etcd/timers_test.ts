// Deno only: it starts servers.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, tryAcquire } from "@holdfast/lock";
import { parseDocument } from "../../../src/engine/document.ts";
import { claimOf, grant } from "../../support/claims.ts";
import { EtcdServer } from "../../support/etcd_server.ts";
import { patient } from "../../support/patient.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { counting } from "./counting.ts";
import { backendOf, Place, test } from "./place.ts";

Place.serve();

const NEVER = new AbortController().signal;

/** Returns how many keys there are from one on, given by its bytes, up to those that no prefix begins with. */
async function keysFrom(key: string): Promise<number> {
  const { count = "0" } = await Place.cluster.members[0]!.call("/v3/kv/range", {
    key: btoa(key),
    range_end: btoa("\xff"),
    count_only: true,
  }) as { count?: string };
  return Number(count);
}

test("EtcdTimers start() makes a key that ends by its lease, and no sooner", async (place) => {
  const { timers } = place.backend();
  const since = performance.now();
  const [one, other] = await Promise.all([timers.start(2_000, NEVER), timers.start(600_000, NEVER)]);
  assertEquals(await timers.areOver([other]), [false]);
  await until(async () => (await timers.areOver([one]))[0]!, "it is over", HANG_MS);
  assert(performance.now() - since >= 2_000);
  assertEquals(await timers.areOver([one, other, "unknown"]), [true, false, true]);
});

test("EtcdTimers areOver() answers for more timers than a member takes operations", async (place) => {
  const { timers } = place.backend();
  const name = await timers.start(60_000, NEVER);
  const names = Array.from({ length: 250 }, (_, i) => i === 130 ? name : `${i}`);
  assertEquals(await timers.areOver(names), names.map((each) => each !== name));
});

test("EtcdTimers start() sends nothing more once it is given up", async (place) => {
  const counted = counting();
  const given = new AbortController();
  const { timers } = place.backend({
    fetch: async (url, request) => {
      const response = await counted.fetch(url, request);
      given.abort(new Error("given up"));
      return response;
    },
  });
  await assertRejects(() => timers.start(2_000, given.signal), Error, "given up");
  assertEquals([counted.count("lease/grant"), counted.count("kv/put")], [1, 0]);
});

test("EtcdTimers start() refuses a lease that is shorter, or none", async (place) => {
  for (const answer of [{ header: {} }, { header: {}, ID: "7", TTL: "1" }]) {
    const fetch = () =>
      Promise.resolve({ status: 200, body: null, text: () => Promise.resolve(JSON.stringify(answer)) });
    await assertRejects(() => place.backend({ fetch }).timers.start(2_000, NEVER), Error, "has no lease");
  }
  const fetch = () => Promise.resolve({ status: 200, body: null, text: () => Promise.resolve('{"header":{}}') });
  await assertRejects(() => place.backend({ fetch }).timers.areOver(["a"]), Error, "has no range");
});

test("EtcdBackend lists no timers, nor those of a prefix behind it", async (place) => {
  const backend = place.backend();
  await backend.write("\u{10ffff}", "last", "0");
  await backend.timers.start(60_000, NEVER);
  assertEquals(await keysFrom(`${place.prefix}\xff`), 1);
  assertEquals((await backend.list(1)).documents.map(({ key }) => key), ["\u{10ffff}"]);
  assertEquals((await backend.list(10)).cursor, undefined);
});

test("etcd() starts no timer for a lock that is soon released", async (place) => {
  const counted = counting();
  const store = place.store({ fetch: counted.fetch });
  for (let i = 0; i < 20; i++) await (await acquire(store, "a")).release();
  assertEquals([counted.count("lease"), counted.count("kv/put"), counted.count("kv/txn")], [0, 0, 40]);
});

test("etcd() writes three entries for a timer of a process, for all its locks", async (place) => {
  const member = Place.cluster.members[0]!;
  const engine = patient(place.engine());
  const claims = Array.from({ length: 50 }, (_, i) => claimOf(`${i}`));
  for (const claim of claims) await grant(engine, claim);
  const renewed = () => Promise.all(claims.map((claim) => engine.renew(claim)));
  await renewed();
  await until(async () => await keysFrom(`${place.prefix}\xff`) === 1, "the timer runs");
  const entries = () => member.metric("etcd_server_proposals_committed_total");
  // The server adds one itself now and then: another test's lease of etcd has ended.
  await until(async () => {
    const before = await entries();
    await renewed();
    return await entries() - before === 50;
  }, "renewals take one entry each, and no timer");
  const documents = await place.documents();
  assertEquals(new Set([...documents.values()].map(({ holders }) => [...holders.values()][0]!.timer)).size, 1);
  await Promise.all(claims.map((claim) => engine.release(claim)));
});

test("etcd() leaves no key of a timer behind", async (place) => {
  const { timers } = place.backend();
  await timers.start(1_000, NEVER);
  await using _lock = await acquire(place.store(), "a", { lease: 60_000, renew: false });
  assertEquals(await tryAcquire(place.store(), "a", { lease: 1_000 }), null);
  await until(async () => await keysFrom(`${place.prefix}\xff`) === 1, "one of them is over", HANG_MS);
});

test("etcd() needs no right for timers but that on its prefix", async () => {
  await using server = await EtcdServer.start();
  const range = { key: btoa("holdfast/"), "range_end": btoa("holdfast0") };
  for (const name of ["root", "locks"]) await server.call("/v3/auth/role/add", { name });
  await server.call("/v3/auth/role/grant", { name: "locks", perm: { permType: "READWRITE", ...range } });
  for (const [name, role] of [["root", "root"], ["app", "locks"]]) {
    await server.call("/v3/auth/user/add", { name, password: "secret" });
    await server.call("/v3/auth/user/grant", { user: name, role });
  }
  await server.call("/v3/auth/enable");
  const backend = backendOf({ endpoints: [server.url], username: "app", password: "secret" });
  const name = await backend.timers.start(60_000, NEVER);
  assertEquals(await backend.timers.areOver([name]), [false]);
  const listed = await backend.list(10);
  assertEquals(listed.documents.map(({ key, value }) => parseDocument(key, value).unused), []);
});
