import { sqlite, type SqliteStore } from "@holdfast/lock/sqlite";
import { checkSuccession } from "./succeed.ts";

Deno.test("cohort(sqlite) hands the place of a waiter that gives up to the next one", async () => {
  const directory = Deno.makeTempDirSync({ prefix: "holdfast_" });
  const stores: SqliteStore[] = [];
  try {
    await checkSuccession((observer) => {
      const store = sqlite(`${directory}/locks.db`, { observer });
      stores.push(store);
      return store;
    });
  } finally {
    for (const store of stores) store.close();
    Deno.removeSync(directory, { recursive: true });
  }
});
