import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import type { Finding } from "../../../packages/cli/src/doctor/finding.ts";
import { judgeModes } from "../../../packages/cli/src/doctor/zookeeper.ts";
import { openStore } from "../../../examples/store.ts";
import { permissionsOf } from "../../../examples/store_url.ts";
import { runSource } from "../../support/run_source.ts";
import { holdfast, jsonLines, type Result } from "../../../packages/cli/tests/cli_process.ts";
import { answered, Place, test, threeServers } from "./place.ts";

const CONFIG = new URL("../../../deno.json", import.meta.url).pathname;

/** Returns the URL of a place. */
function urlOf({ address, path }: Place, at = ""): string {
  return `zookeeper://${at}${address}?path=${path}`;
}

/** Returns the codes of what is wrong. */
function wrong({ out }: Result): string[] {
  const findings = jsonLines<Finding>(out).filter(({ level, code }) => level !== "ok" && code !== "permission");
  return findings.map(({ level, code }) => `${level} ${code}`);
}

test("holdfast shows and takes away locks in ZooKeeper", async (place) => {
  const lock = await acquire(await place.store(), "a", { strict: false });
  const store = urlOf(place);
  const { status, out, err } = await holdfast(["ls", "--json"], { store });
  assertEquals([status, jsonLines<{ name: string }>(out).map(({ name }) => name)], [0, ["a"]], err);
  const { evicted } = JSON.parse((await holdfast(["evict", "a", "--yes", "--json"], { store })).out);
  assertEquals(evicted, 1);
  assertEquals((await holdfast(["show", "a"], { store })).status, 1);
  await lock.release().catch(() => {});
});

test("holdfast run makes the node in ZooKeeper, and other verbs do not", async (place) => {
  const store = urlOf(place, "app:se%20cret@");
  const { status, err } = await holdfast(["ls"], { store });
  assert(status === 2 && err.startsWith(`holdfast: there is no node ${place.path} in `), err);
  const run = await holdfast(["run", "a", "--", "echo", "done"], { store });
  assertEquals([run.status, run.out], [0, "done\n"], run.err);
  assertEquals(await place.used(), []);
});

test("openStore() of the examples opens ZooKeeper by its URL", async (place) => {
  await answered((done) => place.client().mkdirp(place.path, done));
  const url = `zookeeper://${place.address},${place.address}${place.path}`;
  assertEquals(permissionsOf(url)[0], `--allow-net=${place.address},${place.address}`);
  await using opened = await openStore(url);
  await using lock = await acquire(opened.store, "a");
  assert(lock.held);
});

test("a lock is held in ZooKeeper with the flags of Deno that docs/typescript.md has", async (place) => {
  const program = `
    import { acquire } from "@holdfast/lock";
    import { zookeeper } from "@holdfast/lock/zookeeper";
    import { createClient } from "node-zookeeper-client";
    const client = createClient("${place.address}");
    client.connect();
    await using lock = await acquire(zookeeper(client, { path: "${place.path}" }), "a");
    console.log(lock.held);
    await lock.release();
    client.close();
  `;
  const flags = [`--allow-net=${place.address}`, "--no-prompt", "--no-check", `--config=${CONFIG}`];
  const { success, out, err } = await runSource(program, { flags });
  assertEquals([success, out], [true, "true\n"], err);
});

test("holdfast says why ZooKeeper cannot be opened, without the password", async () => {
  const { status, err } = await holdfast(["ls"], { store: "zookeeper://app:secret@127.0.0.1:1,127.0.0.1:2/a" });
  assert(status === 69 && err.includes("zookeeper://127.0.0.1:1,127.0.0.1:2/a") && !err.includes("secret"), err);
});

test("holdfast doctor leaves no lock on healthy servers", async () => {
  await using place = Place.open(threeServers().address);
  const result = await holdfast(["doctor", "--json"], { store: urlOf(place) });
  assertEquals([result.status, wrong(result)], [0, ["warning auth"]], result.out);
  assertEquals((await place.backend().list(9)).documents, []);
  const codes = jsonLines<Finding>(result.out).map(({ code }) => code);
  for (const code of ["quorum", "client", "auth", "clock", "wake-up", "lock"] as const) {
    assert(codes.includes(code), code);
  }
});

test("holdfast doctor finds a single server, a missing chroot and no server", async (place) => {
  const one = await holdfast(["doctor", "--json"], { store: urlOf(place) });
  assertEquals([one.status, wrong(one)], [0, ["warning quorum", "warning auth"]], one.out);
  const chroot = await holdfast(["doctor", "--json"], { store: `zookeeper://${place.address}/nowhere` });
  assertEquals([chroot.status, wrong(chroot)], [1, ["warning quorum", "error unreachable"]], chroot.out);
  assert(chroot.out.includes("the chroot /nowhere does not exist"), chroot.out);
  const none = await holdfast(["doctor", "--json"], { store: "zookeeper://127.0.0.1:1" });
  assertEquals([none.status, wrong(none)], [1, ["warning quorum", "error unreachable"]], none.out);
});

test("holdfast doctor finds that rights are missing in ZooKeeper", async (place) => {
  const { ACL, Id, Permission } = await import("node-zookeeper-client");
  const client = place.client();
  const acl = [new ACL(Permission.READ, new Id("world", "anyone"))];
  await answered((done) => client.create(place.path, client.getSessionId(), acl, done));
  const result = await holdfast(["doctor", "--json"], { store: urlOf(place) });
  assertEquals([result.status, wrong(result)], [1, ["warning quorum", "error rights"]], result.out);
});

Deno.test("judgeModes() judges what servers say that they are", () => {
  const levelOf = (...modes: string[]) => judgeModes(modes).level;
  assertEquals(levelOf("leader", "follower", "follower"), "ok");
  for (const modes of [["standalone"], ["leader", "follower"], ["follower"], ["leader", "follower", "no answer"]]) {
    assertEquals(levelOf(...modes), "warning");
  }
  assert(judgeModes(["srvr is not executed because it is not in the whitelist."]).advice.includes("4lw"));
});
