// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { Stalls } from "./stalls.ts";
import { until } from "../../support/until.ts";

Deno.test("Stalls notes when the process stood still", async () => {
  const reported: unknown[] = [];
  using stalls = new Stalls((stall) => reported.push(stall));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
  await until(() => stalls.seen.length > 0, "the stall is noted");
  const [{ start, end }] = stalls.seen as [{ start: number; end: number }];
  assert(end - start >= 249, `${end - start}`);
  assertEquals(reported.slice(0, 1), stalls.seen.slice(0, 1));
});
