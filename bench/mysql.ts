import { acquire } from "@holdfast/lock";
import { mysql } from "@holdfast/lock/mysql";
import { createPool, type Pool, type ResultSetHeader } from "mysql2/promise";
import { findMariadb } from "../tests/support/mariadb.ts";
import { MariadbServer } from "../tests/support/mariadb_server.ts";
import type { Figure } from "./figure.ts";
import type { Bench } from "./row.ts";
import { compare } from "./uncontended.ts";

/** Whether each commit waits for the disk, which hides what is between them. */
const FLUSHES = { "with a flush to disk": 1, "without": 2 };

/** Measures the store on MariaDB over mysql2. */
export async function onMysql(bench: Bench): Promise<Figure[]> {
  const found = findMariadb();
  if ("missing" in found) {
    console.error(`nothing is measured on MariaDB: ${found.missing}`);
    return [];
  }
  const figures: Figure[] = [];
  for (const [how, flush] of Object.entries(FLUSHES)) {
    const server = await MariadbServer.start([`--innodb-flush-log-at-trx-commit=${flush}`]);
    bench.stack.defer(() => server[Symbol.asyncDispose]());
    const pool = createPool(server.options);
    bench.stack.defer(() => pool.end());
    await pool.query("CREATE TABLE bare (name VARBINARY(1024) PRIMARY KEY, owner VARCHAR(64) NOT NULL) ENGINE=InnoDB");
    const store = mysql(pool);
    const contest = {
      what: `MariaDB, ${how}: acquire + release`,
      ours: async (loop: number) => {
        await using _lock = await acquire(store, `ours:${loop}`);
      },
      reference: (loop: number) => barePair(pool, `bare:${loop}`),
      against: "bare INSERT IGNORE, DELETE",
    };
    figures.push(await compare(contest, { loops: 1, pairs: 200, seconds: 7 }, bench));
  }
  return figures;
}

/** The least that a lock in a table can be: insert its row if there is none, and delete it. */
async function barePair(pool: Pool, name: string): Promise<void> {
  const owner = crypto.randomUUID();
  const [taken] = await pool.query<ResultSetHeader>("INSERT IGNORE INTO bare VALUES (?, ?)", [name, owner]);
  const [released] = await pool.query<ResultSetHeader>("DELETE FROM bare WHERE name = ? AND owner = ?", [name, owner]);
  if (taken.affectedRows + released.affectedRows !== 2) throw new Error(`${name} was taken`);
}
