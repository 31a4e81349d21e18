// Deno only: it starts servers.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, LockLostError } from "@holdfast/lock";
import { guard } from "@holdfast/lock/guard";
import { mysql } from "@holdfast/lock/mysql";
import { postgres } from "@holdfast/lock/postgres";
import { sqlite } from "@holdfast/lock/sqlite";
import { createPool } from "mysql2/promise";
import pg from "pg";
import { type ClientName, CLIENTS, journalOf, TABLES } from "./databases.ts";
import { isMissing, Place, serve } from "./place.ts";

serve();

/** Opens the store that keeps its locks in the database of a place. */
function openStore({ client, at }: Place) {
  switch (CLIENTS[client]) {
    case "postgres": {
      const pool = new pg.Pool({ connectionString: at });
      return { store: postgres(pool), close: () => pool.end() };
    }
    case "mysql": {
      const pool = createPool(at);
      return { store: mysql(pool), close: () => pool.end() };
    }
    case "sqlite": {
      const store = sqlite(at);
      return { store, close: () => Promise.resolve(store.close()) };
    }
  }
}

const ORDERS = ["the table of guard() first", "the locks first"] as const;

for (const client of ["pg", "mysql2", "node:sqlite"] as const satisfies readonly ClientName[]) {
  for (const order of ORDERS) {
    Deno.test({
      name: `guard() over ${client} with its locks in the same database: ${order}`,
      ignore: isMissing(client),
      fn: async () => {
        await using place = await Place.open(client, { tables: false });
        const makeTables = async () => {
          for (const table of TABLES[CLIENTS[client]]) await place.database.query(table);
        };
        const { store, close } = openStore(place);
        try {
          if (order === ORDERS[0]) await makeTables();
          await (await acquire(store, "a")).release();
          if (order === ORDERS[1]) await makeTables();
          const first = await acquire(store, "a", { strict: false });
          // As the lock was when its holder looked at it, and was then paused.
          const write = ({ name, fence, mode, permits }: typeof first) =>
            place.database.transaction(async (tx, note) => {
              await guard(tx, { name, fence, mode, permits, held: true });
              await note(fence);
            });
          await write(first);
          const second = await acquire(store, "a", { steal: true });
          assert(second.fence > first.fence);
          await write(second);
          await assertRejects(() => write(first), LockLostError);
          const { held } = await store.query();
          assertEquals(held.map(({ name, fence }) => [name, fence]), [["a", second.fence]]);
          await second.release();
          await assertRejects(() => first.release(), LockLostError);
          assertEquals(await journalOf(place.database), [first.fence, second.fence]);
        } finally {
          await close();
        }
      },
    });
  }
}
