// Deno only: it imitates Node 22.5 by means that Node does not allow.
import { acquire } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";

Deno.test("sqlite() works without DatabaseSync.isOpen, as before Node 22.15", async () => {
  const getBuiltinModule = process.getBuiltinModule;
  class Older extends DatabaseSync {
    override readonly isOpen: boolean = undefined!;
  }
  process.getBuiltinModule = () => ({ DatabaseSync: Older }) as never;
  try {
    using store = sqlite(":memory:");
    await (await acquire(store, "a")).release();
  } finally {
    process.getBuiltinModule = getBuiltinModule;
  }
});
