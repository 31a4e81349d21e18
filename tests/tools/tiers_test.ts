// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { allTests, longestFirst, needsOf, otherTests, readmeTests, UNIT_PERMISSIONS, unitTests } from "./tiers.ts";

Deno.test("unitTests() gives the tests that neither start a process nor import what does", () => {
  const files = unitTests();
  for (
    const path of [
      "tests/lock/lease_test.ts",
      "tests/stores/sqlite/watch/local_waiters_test.ts",
      "bench/statistics_test.ts",
    ]
  ) {
    assert(files.includes(path), `${path} is a unit test`);
  }
  const others = [
    "tests/stores/redis/keys/keys_test.ts", // It imports what starts Redis,
    "tests/deployments/cluster_test.ts", // and this one imports what imports that.
    "tests/publishing_test.ts", // It runs Deno.
    "packages/cli/tests/server/http_server_test.ts", // It uses the network.
    "tests/simulation/simulation_test.ts",
  ];
  assertEquals(others.filter((path) => files.includes(path)), []);
});

Deno.test("readmeTests() need a Redis server at most, and otherTests() are the others", () => {
  const [readme, others] = [readmeTests(), otherTests()];
  assertEquals([...readme.needs].sort(), ["processes", "redis-server"]);
  assertEquals([...readme.files, ...others.files].sort(), allTests().sort());
  for (
    const path of [
      "tests/stores/redis/kinds_test.ts",
      "packages/cli/tests/run_test.ts",
      "tests/docs_test.ts",
      "tests/simulation/simulation_test.ts",
    ]
  ) {
    assert(readme.files.includes(path), path);
  }
  for (
    const path of [
      "tests/deployments/cluster_test.ts",
      "tests/faults/contention_test.ts",
      "tests/engine/store_test.ts",
      "tests/tools/tasks_test.ts",
    ]
  ) assert(others.files.includes(path), path);
  assert(readme.without.includes("PostgreSQL") && readme.without.includes("fault runs"), `${readme.without}`);
});

Deno.test("needsOf() finds what a test starts through the files that it imports", () => {
  const cases: Record<string, string> = {
    "tests/stores/postgres/store_test.ts": "PostgreSQL",
    "tests/stores/etcd/watch_test.ts": "etcd",
    "tests/faults/run/short_runs_test.ts": "fault runs",
    "tests/web_locks/servers_test.ts": "MariaDB",
    "packages/cli/tests/dashboard/browser_test.ts": "Chromium",
    "packages/cli/tests/doctor/redis_test.ts": "a C compiler",
    "tests/stores/redis/node_redis_test.ts": "other clients of Redis",
    "tests/stores/zookeeper/store_test.ts": "ZooKeeper",
    "packages/otel/tests/prometheus_test.ts": "Prometheus",
  };
  const wrong = Object.entries(cases).filter(([path, need]) => !needsOf(path).has(need as never));
  assertEquals(wrong, []);
});

Deno.test("longestFirst() gives the files of slow servers first, and others in their order", () => {
  const [unit, process] = ["tests/lock/lease_test.ts", "tests/publishing_test.ts"];
  const [zookeeper, etcd] = ["tests/stores/zookeeper/store_test.ts", "tests/stores/etcd/watch_test.ts"];
  assertEquals(longestFirst([unit, etcd, process, zookeeper]), [zookeeper, etcd, unit, process]);
});

for (
  const [what, program] of Object.entries({
    "run a server": `await new Deno.Command("redis-server").output()`,
    "connect to a server": `await Deno.connect({ hostname: "127.0.0.1", port: 6379 })`,
  })
) {
  Deno.test(`UNIT_PERMISSIONS do not let a test ${what}`, async () => {
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-config", "--no-prompt", ...UNIT_PERMISSIONS, `data:application/javascript,${program}`],
      stdin: "null",
    }).output();
    const text = new TextDecoder().decode(stderr);
    assert(!success && text.includes("NotCapable"), text);
  });
}
