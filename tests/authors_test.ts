import { assert, assertEquals, assertThrows } from "@std/assert";
import { acquire, type Claim, type LockTarget } from "@holdfast/lock";
import { checkArguments, handleOf, storeOf } from "@holdfast/lock/authors";
import { memory } from "@holdfast/lock/memory";

Deno.test("storeOf() gives the store that acquire() uses, each time the same", async () => {
  const target = memory();
  const store = await storeOf(target);
  await using lock = await acquire(target, "a");
  const { held } = await store.query!();
  assertEquals(held.map(({ name, fence }) => [name, fence]), [["a", lock.fence]]);
  assert(await storeOf(target) === store && await storeOf(store) === store);
});

Deno.test("storeOf() refuses what is no target", () => {
  assertThrows(() => storeOf("redis://localhost" as unknown as LockTarget), TypeError, "Pass new Redis(url)");
});

Deno.test("checkArguments() throws what acquire() rejects with, whatever the store is", async () => {
  checkArguments("a");
  checkArguments("a", { lease: 1_000, wait: 0, meta: { job: "import" } });
  const wrong: Parameters<typeof checkArguments>[] = [
    [""],
    ["x".repeat(1_025)],
    ["a", { lease: 5 }],
    ["a", { wait: -1 }],
    ["a", { ttl: 1_000 } as object],
  ];
  for (const [name, options] of wrong) {
    const { message } = await acquire(memory(), name, options).then(() => new Error("none"), (error: Error) => error);
    assertThrows(() => checkArguments(name, options), Error, message);
  }
});

Deno.test("handleOf() gives the id under which a store lists the handle of a claim", () => {
  const claim: Claim = { name: "a", owner: "web-1", mode: "exclusive", lease: 1_000 };
  assertEquals([handleOf(claim), handleOf({ ...claim, handle: "h" })], ["web-1", "h"]);
});
