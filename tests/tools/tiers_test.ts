// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { UNIT_PERMISSIONS, unitTests } from "./tiers.ts";

Deno.test("unitTests() gives the tests that neither start a process nor import what does", () => {
  const files = unitTests();
  for (
    const path of ["tests/lease_test.ts", "tests/stores/sqlite/watch/local_waiters_test.ts", "bench/statistics_test.ts"]
  ) {
    assert(files.includes(path), `${path} is a unit test`);
  }
  const others = [
    "tests/stores/redis/keys/keys_test.ts", // It imports what starts Redis,
    "tests/deployments/cluster_test.ts", // and this one imports what imports that.
    "tests/publishing_test.ts", // It runs Deno.
    "tests/cli/server/http_server_test.ts", // It uses the network.
    "tests/simulation/simulation_test.ts",
  ];
  assertEquals(others.filter((path) => files.includes(path)), []);
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
