import { sqlite, type SqliteStore } from "@holdfast/lock/sqlite";
import { LockManager } from "@holdfast/lock/web-locks";
import { until } from "../support/until.ts";
import { ACROSS_NAMES, TOGETHER, webLocksSuite } from "./suite.ts";

webLocksSuite({
  of: "LockManager on sqlite",
  without: [ACROSS_NAMES, TOGETHER],
  open: () => {
    const directory = Deno.makeTempDirSync({ prefix: "holdfast_sqlite_" });
    const stores: SqliteStore[] = [];
    const open = () => {
      const store = sqlite(`${directory}/locks.db`);
      stores.push(store);
      return store;
    };
    const empty = async () => {
      const { held, pending } = await new LockManager(open()).query();
      return held.length + pending.length === 0;
    };
    return {
      connect: () => new LockManager(open()),
      close: async () => {
        await until(empty, "nothing is left");
        for (const store of stores) store.close();
        Deno.removeSync(directory, { recursive: true });
      },
    };
  },
});
