// Deno only: it starts processes of Deno, and servers.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import type { Finding } from "../../src/doctor/finding.ts";
import { LEASE_MS } from "../../src/doctor/lock_cycle.ts";
import { entries } from "../../../../src/stores/redis/scripts/generated.ts";
import { RedisServer } from "../../../../tests/support/redis_server.ts";
import { TcpProxy } from "../../../../tests/support/tcp_proxy.ts";
import { until } from "../../../../tests/support/until.ts";
import { CliProcess, holdfast as process, jsonLines } from "../cli_process.ts";
import { holdfast } from "../commands.ts";

/** Permissions of a command that reaches this server, and of which nothing is missing. */
function flags(server: RedisServer, ...more: string[]): string[] {
  return ["--allow-read", "--allow-env", "--allow-sys", `--allow-net=127.0.0.1:${server.port}`, ...more];
}

Deno.test("holdfast doctor ends with 0 on a healthy server, and leaves nothing there", async () => {
  await using server = await RedisServer.start(["--appendonly", "yes"]);
  const store = `redis://127.0.0.1:${server.port}`;
  const { status, out, err } = await process(["doctor"], { store, flags: flags(server) });
  assertEquals([status, err], [0, ""], out);
  assert(/^errors: 0, warnings: 0, /m.test(out), out);
  assertEquals(await server.command("KEYS", "*"), []);
});

Deno.test("holdfast doctor ends with 1 when something would break a lock, with advice", async () => {
  await using server = await RedisServer.start(["--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"]);
  const store = `redis://127.0.0.1:${server.port}`;
  const { status, out } = await holdfast(["doctor", "--quiet"], { store });
  assertEquals(status, 1, out);
  assert(out.includes("error  eviction-policy: "), out);
  assert(out.includes("what to do: Set maxmemory-policy noeviction"), out);
  assert(!/^ok /m.test(out), "it is quiet about the rest");
});

Deno.test("holdfast doctor --json writes a finding per line", async () => {
  await using server = await RedisServer.start();
  const { status, out } = await holdfast(["doctor", "--json"], { store: `redis://127.0.0.1:${server.port}` });
  const findings = jsonLines<Finding>(out);
  assertEquals([status, findings.filter(({ level }) => level === "warning").map(({ code }) => code)], [0, [
    "persistence",
  ]]);
});

Deno.test("holdfast doctor names the permission of Deno that is missing", async () => {
  await using server = await RedisServer.start();
  const store = `redis://127.0.0.1:${server.port}`;
  const { status, out } = await process(["doctor"], {
    store,
    flags: ["--allow-read", "--allow-env", "--allow-sys", "--allow-net=127.0.0.1:1"],
  });
  assertEquals(status, 1, out);
  assert(out.includes(`Start the program with --allow-net=127.0.0.1:${server.port}.`), out);
});

Deno.test("holdfast doctor ends with 1 within seconds when the server is away", async () => {
  await using server = await RedisServer.start();
  await server.kill();
  const { status, out } = await holdfast(["doctor"], { store: `redis://127.0.0.1:${server.port}` });
  assertEquals(status, 1, out);
  assert(out.includes("error  unreachable: "), out);
});

Deno.test("holdfast doctor leaves nothing on the server when Ctrl-C ends it", async () => {
  await using server = await RedisServer.start();
  // It knows the scripts from now on.
  const store = redis(server.connect());
  const lock = await acquire(store, "a");
  await lock.extend();
  await store.query({ name: "a" });
  await lock.release();
  await server.command("FLUSHALL");
  await using proxy = await TcpProxy.start(server.port);
  // The attempt of the waiter is answered by then, and as its subscription is not, it does not attempt again.
  const subscribed = proxy.holdRequest("holdfast:evicted");
  const listed = proxy.stallReply(entries.sha);
  const started = performance.now();
  await using doctor = new CliProcess(["doctor"], { store: `redis://127.0.0.1:${proxy.port}` });
  await Promise.all([subscribed, listed]);
  const keys = async (pattern: string) => await server.command("KEYS", pattern) as string[];
  assertEquals((await keys("*:queue")).length, 1, "another handle waits");
  doctor.signal("SIGINT");
  await until(async () => (await keys("*:queue")).length === 0, "it waits no more");
  const held = (await keys("lock:holdfast:doctor:*")).length === 1;
  assert(held || performance.now() - started >= LEASE_MS, "the lock is held while its lease lasts");
  proxy.resume();
  const { status, out } = await doctor.end();
  assertEquals([status, out, await keys("*")], [130, "", []]);
});
