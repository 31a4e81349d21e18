// Deno only: it starts servers, and processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { etcd } from "@holdfast/lock/etcd";
import { etcdPatient } from "../src/doctor/etcd.ts";
import { examinePatient } from "../src/doctor/examination.ts";
import type { Finding } from "../src/doctor/finding.ts";
import { etcd as scheme } from "../src/schemes/etcd.ts";
import { storeUrl } from "../src/schemes/store_urls.ts";
import { ignore, Place } from "../../../tests/stores/etcd/place.ts";
import { EtcdCluster, EtcdServer } from "../../../tests/support/etcd_server.ts";
import { HANG_MS, until } from "../../../tests/support/until.ts";
import { holdfast, jsonLines } from "./cli_process.ts";

Place.serve(3);

/** Returns the URL of a cluster. */
function urlOf(members: readonly EtcdServer[], login = ""): string {
  return `etcd://${login}${members.map(({ port }) => `127.0.0.1:${port}`).join()}`;
}

function test(name: string, run: (place: Place, url: string) => Promise<void>): void {
  const fn = () => {
    const place = new Place();
    return run(place, `${urlOf(Place.cluster.members)}?prefix=${encodeURIComponent(place.prefix)}`);
  };
  Deno.test({ name, fn, ignore });
}

test("holdfast shows and takes away locks in etcd", async (place, store) => {
  const lock = await acquire(place.store(), "a", { strict: false });
  const { status, out, err } = await holdfast(["ls", "--json"], { store });
  assertEquals([status, jsonLines<{ name: string }>(out).map(({ name }) => name)], [0, ["a"]], err);
  const { evicted } = JSON.parse((await holdfast(["evict", "a", "--yes", "--json"], { store })).out);
  assertEquals(evicted, 1);
  assertEquals((await holdfast(["show", "a"], { store })).status, 1);
  const nothing = await holdfast(["ls"], { store });
  assert(nothing.err.includes(`with the prefix ${place.prefix}`), nothing.err);
  await lock.release().catch(() => {});
});

test("holdfast run holds a lock in etcd", async (place, store) => {
  const { status, out, err } = await holdfast(["run", "a", "--", "echo", "done"], { store });
  assertEquals([status, out], [0, "done\n"], err);
  assertEquals([[...await place.documents()].length, await place.used()], [1, []]);
});

test("holdfast says why etcd cannot be reached, without the password", async () => {
  const { status, err } = await holdfast(["ls"], { store: "etcd://app:secret@127.0.0.1:1,127.0.0.1:2" });
  assert(status === 69 && err.includes("http://127.0.0.1:") && !err.includes("secret"), err);
});

test("holdfast doctor finds nothing but that authentication is off, and leaves nothing", async (place, store) => {
  const result = await holdfast(["doctor", "--json"], { store });
  const findings = jsonLines<Finding>(result.out).filter(({ code }) => code !== "permission");
  assertEquals([result.status, faults(findings)], [0, ["warning auth"]], result.out);
  const codes = ["quorum", "clock", "clock", "clock", "auth", "quota", "rights", "wake-up", "lock"];
  assertEquals(findings.map(({ code }) => code), codes as Finding["code"][]);
  assertEquals((await place.documents()).size, 0);
});

/** Examines the cluster of a URL, as `doctor` does. */
async function examine(url: string): Promise<Finding[]> {
  await using patient = await scheme.examination([storeUrl(url, "the test")]).open();
  return await examinePatient(patient, new AbortController().signal);
}

/** Returns the findings that are not as they should be, as `level code`. */
function faults(findings: readonly Finding[]): string[] {
  return findings.filter(({ level }) => level !== "ok").map(({ level, code }) => `${level} ${code}`);
}

Deno.test("etcdPatient() finds that nobody answers, and something else than etcd", async () => {
  assertEquals(faults(await examine("etcd://127.0.0.1:1")), ["error unreachable"]);
  const answers = [() => new Response("hello"), () => Response.json({ hello: "world" })];
  for (const answer of answers) {
    await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);
    const [finding, ...more] = await examine(`etcd://127.0.0.1:${server.addr.port}`);
    assertEquals([finding?.code, more], ["unreachable", []]);
    assert(finding!.found.includes("does not answer as etcd does"), finding!.found);
  }
});

Deno.test({
  name: "etcdPatient() finds members that are down, an even number, and no leader",
  ignore,
  async fn() {
    await using cluster = await EtcdCluster.start(2);
    const [first, second] = cluster.members;
    const url = urlOf(cluster.members);
    assertEquals(faults(await examine(url)), ["warning quorum", "warning auth"]);
    await second!.kill();
    await until(
      async () => {
        const [found] = faults(await examine(url));
        return found === "error quorum";
      },
      "no member leads",
      HANG_MS,
    );
    await second!.start(cluster.members, "existing");
    await until(async () => await first!.leads() || await second!.leads(), "a member leads", HANG_MS);
    const down = await examine(`${url},127.0.0.1:1`);
    assertEquals(faults(down), ["warning quorum", "warning quorum", "warning auth"]);
  },
});

Deno.test({
  name: "etcdPatient() finds a wrong password and a missing role, and names what to run",
  ignore,
  async fn() {
    await using server = await EtcdServer.start();
    for (const name of ["root", "app"]) await server.call("/v3/auth/user/add", { name, password: "secret" });
    await server.call("/v3/auth/role/add", { name: "root" });
    await server.call("/v3/auth/user/grant", { user: "root", role: "root" });
    await server.call("/v3/auth/enable");
    const url = (login: string) => urlOf([server], `${login}@`);
    assertEquals(faults(await examine(url("root:secret"))), []);
    const advices: Readonly<Record<string, string>> = {
      "app:secret": "Run: etcdctl role grant-permission ROLE readwrite --prefix=true 'holdfast/'",
      "app:wrong": "Correct the user and the password.",
    };
    for (const [login, advice] of Object.entries(advices)) {
      const findings = await examine(url(login));
      assertEquals(faults(findings), ["error rights"]);
      assertEquals(findings.find(({ level }) => level === "error")!.advice, advice);
    }
  },
});

Deno.test({
  name: "etcdPatient() finds no compaction, and a database that is nearly full or full",
  ignore,
  async fn() {
    await using server = await EtcdServer.start(["--quota-backend-bytes=3000000"]);
    const put = (size: number) => server.call("/v3/kv/put", { key: btoa("x"), value: btoa("x".repeat(size)) });
    for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 1_000 }, () => put(1)));
    const url = urlOf([server]);
    const [, compaction] = (await examine(url)).filter(({ level }) => level === "warning");
    assert(compaction!.code === "quota" && compaction!.advice.includes("--auto-compaction-mode"), compaction!.advice);
    const { header } = await put(1);
    await server.call("/v3/kv/compaction", { revision: header.revision, physical: true });
    assertEquals(faults(await examine(url)), ["warning auth"]);
    while (Number((await server.call("/v3/maintenance/status")).dbSize) < 2_500_000) {
      await put(50_000);
      // It writes all to the file before.
      await server.call("/v3/maintenance/hash");
    }
    assertEquals(faults(await examine(url)), ["warning auth", "warning quota"]);
    for (let full = false; !full;) await put(50_000).catch(() => full = true);
    assertEquals(faults(await examine(url)), ["warning auth", "error quota"]);
  },
});

test("etcdPatient() finds a clock that is wrong, and a proxy that buffers watches", async (place) => {
  const [{ port }] = Place.cluster.members as [EtcdServer];
  let ahead = 0;
  const silent = { onListen: () => {}, onError: () => new Response("the client has gone", { status: 502 }) };
  await using proxy = Deno.serve({ hostname: "127.0.0.1", port: 0, ...silent }, async (request) => {
    const { pathname } = new URL(request.url);
    const { method } = request;
    const body = method === "GET" ? {} : { body: await request.text() };
    const response = await fetch(`http://127.0.0.1:${port}${pathname}`, { method, signal: request.signal, ...body });
    const date = new Date(Date.now() + ahead).toUTCString();
    return new Response(await response.text(), { status: response.status, headers: { date } });
  });
  const options = { endpoints: [`http://127.0.0.1:${proxy.addr.port}`], prefix: place.prefix };
  const found = async () => {
    await using patient = etcdPatient(etcd(options), options);
    const { findings } = await patient.examine(new AbortController().signal);
    return faults(findings);
  };
  assertEquals(await found(), ["warning auth", "warning wake-up"]);
  ahead = 5_000;
  assertEquals(await found(), ["warning clock", "warning auth", "warning wake-up"]);
  ahead = -60_000;
  assertEquals(await found(), ["warning clock", "warning auth", "warning wake-up"]);
});
