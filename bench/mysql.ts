import { acquire } from "@holdfast/lock";
import { mysql } from "@holdfast/lock/mysql";
import { createPool, type Pool, type ResultSetHeader, type RowDataPacket } from "mysql2/promise";
import { findMariadb } from "../tests/support/mariadb.ts";
import { MariadbServer } from "../tests/support/mariadb_server.ts";
import type { Figure } from "./figure.ts";
import { repeat } from "./repeated.ts";
import type { Bench } from "./row.ts";
import { compare } from "./uncontended.ts";
import { type Executed, polling } from "./waiters.ts";
import { contest, withoutRunsAndWith } from "./workers.ts";

/** Whether each commit waits for the disk, which hides what is between them, and what is to be reached. */
const FLUSHES = {
  "with a flush to disk": { flush: 1, least: 0.85 },
  "without": { flush: 2, least: 0.75 },
};

/** Measures the store on MariaDB over mysql2. */
export async function onMysql(bench: Bench): Promise<Figure[]> {
  const found = findMariadb();
  if ("missing" in found) {
    console.error(`nothing is measured on MariaDB: ${found.missing}`);
    return [];
  }
  const figures: Figure[] = [];
  let last: Pool | undefined;
  for (const [how, { flush, least }] of Object.entries(FLUSHES)) {
    const pool = last = await connect(flush, bench);
    const what = `MariaDB, ${how}: acquire + release`;
    const reference = (loop: number) => barePair(pool, `bare:${loop}`);
    figures.push(await against("bare INSERT IGNORE, DELETE", { what, pool, reference, least }, bench));
  }
  return [...figures, ...await others(last!, bench)];
}

/** Measures, without a flush, what pins a connection, and how many handles of one process, or of many, share a lock. */
async function others(pool: Pool, bench: Bench): Promise<Figure[]> {
  const pinned = await pool.getConnection();
  const advisory = async () => {
    await pinned.query("SELECT GET_LOCK('bare', 10)");
    await pinned.query("SELECT RELEASE_LOCK('bare')");
  };
  const what = "MariaDB, without: acquire + release";
  const figure = await against("GET_LOCK, RELEASE_LOCK", { what, pool, reference: advisory }, bench);
  pinned.release();
  return [
    figure,
    ...await polling({ name: "MariaDB", open: () => mysql(pool), executed: () => executed(pool) }, bench),
    ...await contest({ name: "MariaDB", sides: withoutRunsAndWith(() => mysql(pool)) }, bench),
    await repeat({
      what: "MariaDB: the same name again",
      store: mysql(pool),
      bare: () => barePair(pool, "repeated"),
      least: 5,
    }, bench),
  ];
}

/** Starts a server with the table of the bare pairs, and connects to it. */
async function connect(flush: number, { stack }: Bench): Promise<Pool> {
  const server = await MariadbServer.start([`--innodb-flush-log-at-trx-commit=${flush}`]);
  stack.defer(() => server[Symbol.asyncDispose]());
  const pool = createPool(server.options);
  stack.defer(() => pool.end());
  await pool.query("CREATE TABLE bare (name VARBINARY(1024) PRIMARY KEY, owner VARCHAR(64) NOT NULL) ENGINE=InnoDB");
  return pool;
}

interface Compared {
  readonly what: string;
  readonly pool: Pool;
  readonly reference: (loop: number) => Promise<void>;
  /** The ratio that is to be reached, if any. */
  readonly least?: number;
}

async function against(name: string, { what, pool, reference, least }: Compared, bench: Bench): Promise<Figure> {
  const store = mysql(pool);
  const ours = async (loop: number) => {
    await using _lock = await acquire(store, `ours:${loop}`);
  };
  const target = least === undefined ? {} : { target: { bound: "at least", value: least } as const };
  return await compare(
    { what, ours, reference, against: name, ...target },
    { loops: 1, pairs: 200, seconds: 7 },
    bench,
  );
}

/** The least that a lock in a table can be: insert its row if there is none, and delete it. */
async function barePair(pool: Pool, name: string): Promise<void> {
  const owner = crypto.randomUUID();
  const [taken] = await pool.query<ResultSetHeader>("INSERT IGNORE INTO bare VALUES (?, ?)", [name, owner]);
  const [released] = await pool.query<ResultSetHeader>("DELETE FROM bare WHERE name = ? AND owner = ?", [name, owner]);
  if (taken.affectedRows + released.affectedRows !== 2) throw new Error(`${name} was taken`);
}

async function executed(pool: Pool): Promise<Executed> {
  const [rows] = await pool.query<RowDataPacket[]>(
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Handler_write', 'Handler_update', 'Handler_delete')",
  );
  const of = (name: string) => Number(rows.find((row) => row["Variable_name"] === name)?.["Value"]);
  return { statements: of("Questions"), writes: of("Handler_write") + of("Handler_update") + of("Handler_delete") };
}
