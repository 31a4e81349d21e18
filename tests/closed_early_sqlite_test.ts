import { assert, assertEquals } from "@std/assert";
import { acquire, StoreError } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import { warningsOf } from "./support/warnings.ts";

Deno.test("dispose warns once of a store that was closed before", async () => {
  const warnings = await warningsOf(async () => {
    using store = sqlite(":memory:");
    {
      await using lock = await acquire(store, "released");
      assert(lock.held);
    }
    const explicit = await acquire(store, "explicit");
    for (const name of ["closed", "closed too"]) {
      const store = sqlite(":memory:");
      await using lock = await acquire(store, name, { strict: name === "closed", lease: 7_000 });
      assert(lock.held);
      store.close();
    }
    store.close();
    // The caller of release() knows.
    assert(await explicit.release().catch((error) => error) instanceof StoreError);
    await explicit[Symbol.asyncDispose]();
  });
  assertEquals(warnings.length, 1);
  for (const word of ['"closed"', "7000 ms", "closed before"]) assert(warnings[0]!.includes(word), warnings[0]);
});
