import { assertEquals } from "@std/assert";
import { backoffMs } from "../../src/time/clock.ts";

Deno.test("backoffMs() doubles the first pause with each retry, up to the longest", () => {
  assertEquals([0, 1, 2, 3, 4, 5_000].map((retries) => backoffMs(retries, 20, 100)), [20, 40, 80, 100, 100, 100]);
});
