import { assertEquals } from "@std/assert";
import { nodeTimeoutOf } from "../../../src/composed/redlock/options.ts";

Deno.test("nodeTimeoutOf() is 1 % of the lease, at least 50 ms", () => {
  assertEquals([10, 5_000, 5_001, 30_000].map(nodeTimeoutOf), [50, 50, 50.01, 300]);
});
