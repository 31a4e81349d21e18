// Deno only: it starts servers, and moves the clock of one.
import { assert, assertEquals } from "@std/assert";
import type { Redis } from "ioredis";
import { redis } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { examinePatient } from "../../src/doctor/examination.ts";
import { type ExaminedClient, redisPatient } from "../../src/doctor/redis.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { ProcessClock } from "../../../../tests/support/process_clock.ts";
import { RedisServer } from "../../../../tests/support/redis_server.ts";
import { TcpProxy } from "../../../../tests/support/tcp_proxy.ts";
import { until } from "../../../../tests/support/until.ts";

/** A server that keeps what it is told. */
const HEALTHY = ["--appendonly", "yes"];

/** Examines servers as their users do. */
async function examine(...clients: Redis[]): Promise<Finding[]> {
  const examined: readonly ExaminedClient[] = clients;
  const store = examined.length === 1 ? redis(examined[0]!) : redlock(examined);
  const labels = examined.map((_, place) => `server ${place + 1}`);
  return await examinePatient(redisPatient(examined, { labels, store }), new AbortController().signal);
}

/** Returns the findings that are not as they should be, as `level code`. */
function faults(findings: readonly Finding[]): string[] {
  return findings.filter(({ level }) => level !== "ok").map(({ level, code }) => `${level} ${code}`);
}

Deno.test("redisPatient() finds nothing on a healthy server", async () => {
  await using server = await RedisServer.start(HEALTHY);
  const findings = await examine(server.connect());
  assertEquals(faults(findings), []);
  assertEquals(findings.map(({ code }) => code), [
    ...["version", "role", "memory", "persistence"],
    ...["wake-up", "clock", "lock"],
  ]);
  assertEquals(await server.command("KEYS", "*"), [], "nothing is left behind");
});

Deno.test("redisPatient() finds an eviction policy that deletes locks", async () => {
  await using server = await RedisServer.start([
    ...HEALTHY,
    ...["--maxmemory", "64mb", "--maxmemory-policy", "volatile-ttl"],
  ]);
  assertEquals(faults(await examine(server.connect())), ["error eviction-policy"]);
});

Deno.test("redisPatient() finds a memory that is nearly full", async () => {
  await using server = await RedisServer.start(HEALTHY);
  const used = Number(/used_memory:(\d+)/.exec(String(await server.command("INFO", "memory")))?.[1]);
  await server.command("CONFIG", "SET", "maxmemory", Math.round(used * 1.08));
  const findings = await examine(server.connect());
  assert(faults(findings).includes("warning memory"), faults(findings).join());
});

Deno.test("redisPatient() finds that a restart forgets the locks", async () => {
  await using server = await RedisServer.start();
  assertEquals(faults(await examine(server.connect())), ["warning persistence"]);
});

Deno.test("redisPatient() finds the rights that are missing, with the rule", async () => {
  await using server = await RedisServer.start(HEALTHY);
  const user = ["ACL", "SETUSER", "worker", "on", ">secret", "~*", "&*", "+@all", "-evalsha", "-eval"] as const;
  await server.command(...user);
  const findings = await examine(server.connect({ username: "worker", password: "secret" }));
  assertEquals(faults(findings), ["error lock"]);
  assert(/"ACL SETUSER worker \+evalsha \+eval"/.test(findings.at(-1)!.found), findings.at(-1)!.found);
});

Deno.test("redisPatient() finds that waiters are not woken", async () => {
  await using server = await RedisServer.start(HEALTHY);
  // It may use no channel.
  await server.command("ACL", "SETUSER", "worker", "on", ">secret", "~*", "resetchannels", "+@all");
  const findings = await examine(server.connect({ username: "worker", password: "secret" }));
  assertEquals(faults(findings), ["warning wake-up"]);
  const { advice } = findings.find(({ code }) => code === "wake-up")!;
  assertEquals(advice, "Give the user the right that the message names.");
});

Deno.test("redisPatient() does not take each error of a wake-up for a missing right", async () => {
  await using server = await RedisServer.start([...HEALTHY, "--rename-command", "PUBLISH", ""]);
  const findings = await examine(server.connect());
  const { level, found, advice } = findings.find(({ code }) => code === "wake-up")!;
  assert(level === "warning" && found.includes("unknown command"), found);
  assert(advice.startsWith("Look at what lies between"), advice);
});

Deno.test("redisPatient() finds that the server is a replica", async () => {
  await using master = await RedisServer.start(HEALTHY);
  await using replica = await RedisServer.start([...HEALTHY, "--replicaof", `127.0.0.1 ${master.port}`]);
  const findings = await examine(replica.connect());
  assert(faults(findings).includes("error role"), faults(findings).join());
  assert(faults(findings).includes("error lock"), "no lock can be acquired");
});

Deno.test("redisPatient() finds a replica that is behind", async () => {
  await using master = await RedisServer.start(HEALTHY);
  await using replica = await RedisServer.start(["--replicaof", `127.0.0.1 ${master.port}`]);
  const info = async () => String(await master.command("INFO", "replication"));
  await until(async () => (await info()).includes("state=online"), "it is online");
  // On a slow machine it may be behind for a moment.
  await until(async () => faults(await examine(master.connect())).join() === "warning min-replicas", "it keeps up");
  replica.freeze();
  await until(async () => /lag=[3-9]/.test(await info()), "it is behind");
  assertEquals(faults(await examine(master.connect())), ["warning replica-lag", "warning min-replicas"]);
  replica.thaw();
});

Deno.test("redisPatient() finds a clock that is wrong", async () => {
  using clock = await ProcessClock.make();
  clock.shift(-5_000);
  await using server = await RedisServer.start(HEALTHY, clock.env);
  const findings = await examine(server.connect());
  assertEquals(faults(findings), ["warning clock"]);
  const { found } = findings.find(({ code }) => code === "clock")!;
  const [, ms, uncertainty] = /is (\d+) ms behind this machine's, ± (\d+) ms$/.exec(found) ?? [];
  assert(Math.abs(Number(ms) - 5_000) <= Number(uncertainty) + 1, found);
});

Deno.test("redisPatient() finds a Cluster node that is taken for a server", async () => {
  await using server = await RedisServer.start([...HEALTHY, "--cluster-enabled", "yes"]);
  assert(faults(await examine(server.connect())).includes("error cluster"));
});

Deno.test("redisPatient() finds a server that is away", async () => {
  await using server = await RedisServer.start();
  await server.kill();
  const client = server.connect({ maxRetriesPerRequest: 0, retryStrategy: () => 50 });
  const findings = await examine(client);
  assertEquals(faults(findings), ["error unreachable", "error lock"]);
});

Deno.test("redisPatient() finds a quorum that counts one server twice", async () => {
  await using one = await RedisServer.start(HEALTHY);
  await using two = await RedisServer.start(HEALTHY);
  const findings = await examine(one.connect(), two.connect(), one.connect());
  assert(faults(findings).includes("error not-independent"), faults(findings).join());
  assert(
    /server 3 and server 1 are the same/.test(findings.find(({ code }) => code === "not-independent")!.found),
    findings.find(({ code }) => code === "not-independent")!.found,
  );
});

Deno.test("redisPatient() finds a quorum whose servers replicate one another", async () => {
  await using one = await RedisServer.start(HEALTHY);
  await using two = await RedisServer.start([...HEALTHY, "--replicaof", `127.0.0.1 ${one.port}`]);
  await using three = await RedisServer.start(HEALTHY);
  await until(async () => String(await two.command("INFO", "replication")).includes("link_status:up"), "it replicates");
  const findings = await examine(one.connect(), two.connect(), three.connect());
  assert(faults(findings).includes("error not-independent"), faults(findings).join());
});

Deno.test("redisPatient() finds a quorum of two, and clocks that are far apart", async () => {
  using clock = await ProcessClock.make();
  clock.shift(-20_000);
  await using one = await RedisServer.start(HEALTHY);
  await using two = await RedisServer.start(HEALTHY, clock.env);
  const found = faults(await examine(one.connect(), two.connect()));
  for (const fault of ["warning quorum", "error clocks-apart", "warning clock"]) assert(found.includes(fault), fault);
});

Deno.test("redisPatient() finds nothing on a healthy quorum", async () => {
  await using one = await RedisServer.start(HEALTHY);
  await using two = await RedisServer.start(HEALTHY);
  await using three = await RedisServer.start(HEALTHY);
  assertEquals(faults(await examine(one.connect(), two.connect(), three.connect())), []);
});

Deno.test("redisPatient() finds nothing when many examine a server at the same time", async () => {
  await using server = await RedisServer.start(HEALTHY);
  const found = await Promise.all(Array.from({ length: 10 }, () => examine(server.connect())));
  assertEquals(found.flatMap(faults), []);
  assertEquals(await server.command("KEYS", "*"), [], "nothing is left behind");
});

Deno.test("redisPatient() does not take a slow server for one that wakes nobody", async () => {
  await using server = await RedisServer.start(HEALTHY);
  await using proxy = await TcpProxy.start(server.port);
  const client = proxy.connect();
  proxy.disturb({ replies: 150 });
  assertEquals(faults(await examine(client)), []);
});

Deno.test("redisPatient() tries locks also where the user may not read INFO", async () => {
  await using server = await RedisServer.start(HEALTHY);
  await server.command("ACL", "SETUSER", "worker", "on", ">secret", "~*", "&*", "+@all", "-info");
  const findings = await examine(server.connect({ username: "worker", password: "secret" }));
  assertEquals(faults(findings), ["warning info"]);
  assert(/"ACL SETUSER worker \+info" grants it/.test(findings[0]!.found), findings[0]!.found);
  assertEquals(findings.map(({ code }) => code), ["info", "wake-up", "clock", "lock"]);
});
