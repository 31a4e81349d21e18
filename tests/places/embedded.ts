import { memory } from "@holdfast/lock/memory";
import { redlock } from "@holdfast/lock/redlock";
import { sqlite, type SqliteStore } from "@holdfast/lock/sqlite";
import { FULL, listed, type Place } from "./place.ts";

/** In this process. */
export const MEMORY: Place = {
  of: "memory()",
  capabilities: FULL,
  open: () => {
    const store = memory();
    return { connect: () => store, leftovers: () => listed(store), close: () => {} };
  },
};

/** Three nodes in this process. */
export const QUORUM: Place = {
  of: "redlock() in memory",
  capabilities: ["shared", "evict", "query"],
  open: () => {
    const nodes = [memory(), memory(), memory()];
    const store = redlock(nodes);
    return { connect: () => store, leftovers: () => listed(...nodes), close: () => {} };
  },
};

/** A file, opened by several processes. */
export const SQLITE: Place = {
  of: "sqlite()",
  capabilities: FULL,
  open: () => {
    const directory = Deno.makeTempDirSync({ prefix: "holdfast_sqlite_" });
    let stores: SqliteStore[] = [];
    const connect = () => {
      const store = sqlite(`${directory}/locks.db`);
      stores.push(store);
      return store;
    };
    const restart = () => {
      for (const store of stores) store.close();
      stores = [];
    };
    return {
      connect,
      leftovers: () => listed(stores[0] ?? connect()),
      restart,
      close: () => {
        restart();
        Deno.removeSync(directory, { recursive: true });
      },
    };
  },
};
