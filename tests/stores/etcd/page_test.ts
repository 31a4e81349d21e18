// Deno only: it starts servers, and reads the docs.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, StoreError, tryAcquire } from "@holdfast/lock";
import { etcd } from "@holdfast/lock/etcd";
import { librariesOf } from "../../support/debian_programs.ts";
import { EtcdServer } from "../../support/etcd_server.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { test } from "./place.ts";

/** The commands of the page. */
const PAGE = Deno.readTextFileSync(new URL("../../../docs/stores/etcd.md", import.meta.url));
const [show, rights, room] = Array.from(PAGE.matchAll(/```sh\n([^]*?)```/g), ([, commands]) => commands!);

/** Runs commands of a shell with `etcdctl`, and returns what they write. */
async function shell(server: EtcdServer, commands: string, user = ""): Promise<string> {
  const folder = server.etcdctl.replace(/[^/]*$/, "");
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-e", "-c", commands],
    env: {
      ...librariesOf(server.etcdctl),
      PATH: `${folder}:${Deno.env.get("PATH")}`,
      ETCDCTL_ENDPOINTS: server.url,
      ...user === "" ? {} : { ETCDCTL_USER: user },
    },
    stdin: "null",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert(success, err);
  return out!;
}

test("docs/stores/etcd.md shows a lock with etcdctl", async () => {
  await using server = await EtcdServer.start();
  await using lock = await acquire(etcd({ endpoints: [server.url] }), "invoice:42", { meta: { job: "report" } });
  const document = JSON.parse(await shell(server, show!));
  assertEquals([document.holders.length, document.holders[0].fence], [1, String(lock.fence)]);
  const { leases = [] } = await server.call("/v3/kv/lease/leases");
  assertEquals(leases, [], "no lease of etcd");
});

test("docs/stores/etcd.md has the role of least right: no other keys", async () => {
  await using server = await EtcdServer.start();
  await shell(server, "etcdctl user add root:root; etcdctl role add root; etcdctl user grant-role root root");
  await shell(server, rights!);
  await shell(server, "etcdctl auth enable");
  const app = { endpoints: [server.url], username: "app", password: "secret" };
  const [store, other] = [etcd(app), etcd(app)];
  const lock = await acquire(store, "a");
  const waiting = acquire(other, "a", { wait: HANG_MS });
  await until(async () => (await store.query()).pending.length === 1, "it waits");
  await lock.extend(30_000);
  assertEquals(await store.evict("a"), 1);
  await (await waiting).release();
  await assertRejects(() => lock.release(), Error, "Lost lock");
  await assertRejects(() => tryAcquire(etcd({ ...app, prefix: "holdfast" }), "a"), StoreError, "permission denied");
  await assertRejects(() => etcd({ ...app, prefix: "other/" }).query(), StoreError, "permission denied");
});

test("docs/stores/etcd.md has the commands that let writes in again", async () => {
  await using server = await EtcdServer.start(["--quota-backend-bytes=1000000"]);
  const store = etcd({ endpoints: [server.url] });
  const lock = await acquire(store, "a");
  for (let full = false; !full;) {
    const put = server.call("/v3/kv/put", { key: btoa("big"), value: btoa("x".repeat(100_000)) });
    await put.catch(() => full = true);
  }
  const error = await assertRejects(() => acquire(store, "b"), StoreError, "then run: etcdctl alarm disarm");
  assert(error.permanent);
  assertEquals((await store.query()).held.map(({ name }) => name), ["a"], "it is still read");
  await shell(server, room!);
  await (await acquire(store, "b")).release();
  await lock.release();
});

test("docs/stores/etcd.md says what a restored backup brings back: fences rise", async () => {
  await using server = await EtcdServer.start();
  const store = etcd({ endpoints: [server.url] });
  const old = await acquire(store, "a", { lease: 60_000, strict: false });
  await shell(server, `etcdctl snapshot save ${server.directory}/backup`);
  await old.release();
  const later = await acquire(store, "a");
  await later.release();
  await server.kill();
  await Deno.remove(`${server.directory}/data`, { recursive: true });
  const restore = `etcdctl snapshot restore ${server.directory}/backup --data-dir=${server.directory}/data ` +
    `--name=${server.name} --initial-cluster=${server.name}=${server.peerUrl} ` +
    `--initial-advertise-peer-urls=${server.peerUrl} --initial-cluster-token=${server.name}`;
  await shell(server, restore);
  await server.start();
  // As a program that was started anew.
  const fresh = etcd({ endpoints: [server.url] });
  assertEquals(await tryAcquire(fresh, "a"), null, "the old holder is back");
  assertEquals((await fresh.query()).held.map(({ fence }) => fence), [old.fence]);
  await fresh.evict("a");
  await using next = await acquire(fresh, "a");
  assert(next.fence > later.fence, `${next.fence} after ${later.fence}`);
});
