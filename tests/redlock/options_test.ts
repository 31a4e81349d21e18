import { assertEquals } from "@std/assert";
import { nodeTimeoutOf } from "../../src/redlock/options.ts";

Deno.test("nodeTimeoutOf() fits two trips between regions, or a third of a short lease", () => {
  const leases = [10, 150, 300, 900, 3_000, 5_000, 30_000, 100_000, 600_000];
  assertEquals(leases.map(nodeTimeoutOf), [50, 50, 100, 300, 1_000, 1_000, 1_000, 1_000, 6_000]);
});
