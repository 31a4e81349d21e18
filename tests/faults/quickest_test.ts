// Deno only: it tests a tool of tests that are for Deno only.
import { assertEquals, assertRejects } from "@std/assert";
import { quickest } from "./quickest.ts";

Deno.test("quickest() runs until it was quick once, and rejects when it never is", async () => {
  const attempts: number[] = [];
  await quickest(10, (attempt) => {
    attempts.push(attempt);
    return Promise.resolve(12 - attempt);
  });
  assertEquals(attempts, [0, 1, 2]);
  await assertRejects(() => quickest(10, () => Promise.resolve(11)), Error, "11, 11, 11, 11, 11 ms");
});
