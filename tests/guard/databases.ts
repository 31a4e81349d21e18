import type { PoolConnection as MariadbConnection } from "mariadb";
import type mysql2 from "mysql2";
import type { PoolConnection } from "mysql2/promise";
import type { DatabaseSync } from "node:sqlite";
import type pg from "pg";
import type { Transaction } from "@holdfast/lock/guard";

/** Writes the fence of a transaction into the journal. */
type Note = (fence: bigint) => unknown;

/** A database with a table of fences, and a journal of the transactions that were committed. */
export interface Database extends AsyncDisposable {
  /** Runs a function in a transaction, which is rolled back if it rejects. */
  transaction(run: (tx: Transaction, note: Note) => Promise<void>): Promise<void>;
  /** What is no transaction: a pool, or a connection outside of one. */
  outside(): Promise<unknown[]>;
  /** Runs a statement, and gives the values of its first column. */
  query(statement: string): Promise<unknown[]>;
}

/** The clients by name, with the dialect of each. */
export const CLIENTS = {
  "postgres.js": "postgres",
  "pg": "postgres",
  "pglite": "postgres",
  "mysql2": "mysql",
  "mysql2 with callbacks": "mysql",
  "mariadb": "mysql",
  "node:sqlite": "sqlite",
} as const;

/** The name of a client. */
export type ClientName = keyof typeof CLIENTS;

/** The statements that make the tables, those of the docs. */
export const TABLES: Readonly<Record<typeof CLIENTS[ClientName], readonly string[]>> = {
  postgres: [
    "CREATE TABLE holdfast_guard (name bytea PRIMARY KEY, fence bigint NOT NULL)",
    "CREATE TABLE journal (id serial PRIMARY KEY, fence bigint NOT NULL)",
  ],
  mysql: [
    "CREATE TABLE holdfast_guard (name VARBINARY(1024) NOT NULL PRIMARY KEY, fence BIGINT NOT NULL) ENGINE=InnoDB",
    "CREATE TABLE journal (id INT AUTO_INCREMENT PRIMARY KEY, fence BIGINT NOT NULL) ENGINE=InnoDB",
  ],
  sqlite: [
    "CREATE TABLE holdfast_guard (name BLOB PRIMARY KEY, fence INTEGER NOT NULL)",
    "CREATE TABLE journal (id INTEGER PRIMARY KEY AUTOINCREMENT, fence INTEGER NOT NULL)",
  ],
};

const noteOf = (fence: bigint) => `INSERT INTO journal (fence) VALUES (${fence})`;

/**
 * Opens a database: by a URL, or by the path of a file. Loads its client only then: not every runtime has each. Of
 * postgres.js, `onClosed` is called when it has noticed that a connection has ended.
 */
export const OPEN: Readonly<Record<ClientName, (at: string, onClosed?: () => void) => Promise<Database>>> = {
  "postgres.js": async (at, onClosed = () => {}) => {
    const { default: postgres } = await import("postgres");
    const sql = postgres(at, { onnotice: () => {}, onclose: onClosed, max: 3 });
    return {
      transaction: async (run) => {
        await sql.begin((tx) => run(tx, (fence) => tx.unsafe(noteOf(fence))));
      },
      outside: () => Promise.resolve([sql]),
      query: async (statement) => Array.from(await sql.unsafe(statement), (row) => Object.values(row)[0]),
      [Symbol.asyncDispose]: () => sql.end({ timeout: 1 }),
    };
  },
  "pg": async (at) => {
    const { default: pg } = await import("pg");
    const pool = new pg.Pool({ connectionString: at, max: 3 });
    pool.on("error", () => {}); // The same for a connection that nobody uses.
    return {
      transaction: async (run) => {
        const client = await pool.connect();
        let lost: Error | undefined;
        const note = (error: Error) => void (lost = error);
        client.on("error", note); // Without it the process would die of a connection that the server ends.
        try {
          await client.query("BEGIN");
          await run(client, (fence) => client.query(noteOf(fence)));
          await client.query("COMMIT");
        } catch (error) {
          await client.query("ROLLBACK").catch(note);
          throw error;
        } finally {
          client.off("error", note);
          client.release(lost);
        }
      },
      outside: async () => {
        const client = await pool.connect();
        client.release();
        return [pool, client];
      },
      query: async (statement) => (await pool.query(statement)).rows.map((row: object) => Object.values(row)[0]),
      [Symbol.asyncDispose]: () => pool.end(),
    };
  },
  "pglite": async () => {
    const { PGlite } = await import("@electric-sql/pglite");
    const lite = await PGlite.create();
    return {
      transaction: async (run) => void await lite.transaction((tx) => run(tx, (fence) => tx.query(noteOf(fence)))),
      outside: () => Promise.resolve([lite]),
      query: async (statement) => (await lite.query<object>(statement)).rows.map((row) => Object.values(row)[0]),
      [Symbol.asyncDispose]: () => lite.close(),
    };
  },
  "mysql2": async (at) => {
    const { createPool } = await import("mysql2/promise");
    const pool = createPool(at);
    return {
      ...inMysql(
        () => pool.getConnection(),
        (connection) => connection,
        async (sql) => (await pool.query({ sql, rowsAsArray: true }))[0] as unknown[][],
      ),
      outside: async () => [pool, await lent(pool)],
      [Symbol.asyncDispose]: () => pool.end(),
    };
  },
  "mysql2 with callbacks": async (at) => {
    const { default: mysql2 } = await import("mysql2");
    const pool = mysql2.createPool(at);
    const connect = () => {
      return new Promise<mysql2.PoolConnection>((resolve, reject) => {
        pool.getConnection((error, connection) => error ? reject(error) : resolve(connection));
      });
    };
    return {
      ...inMysql(
        connect,
        (connection) => connection.promise(),
        async (sql) => (await pool.promise().query({ sql, rowsAsArray: true }))[0] as unknown[][],
      ),
      outside: async () => {
        const connection = await connect();
        connection.release();
        return [pool, connection];
      },
      [Symbol.asyncDispose]: () => pool.promise().end(),
    };
  },
  "mariadb": async (at) => {
    const { default: mariadb } = await import("mariadb");
    // Without connections that nobody has asked for: one that is being made when the pool ends leaves a timer.
    const pool = mariadb.createPool(`${at.replace("mysql:", "mariadb:")}?minimumIdle=0`);
    return {
      ...inMysql(
        () => pool.getConnection(),
        (connection) => connection,
        (sql) => pool.query({ sql, rowsAsArray: true }),
      ),
      outside: async () => [pool, await lent(pool)],
      [Symbol.asyncDispose]: () => pool.end(),
    };
  },
  "node:sqlite": async (at) => {
    const { DatabaseSync } = await import("node:sqlite");
    const open = () => new DatabaseSync(at, { timeout: 10_000 } as object);
    const main = open();
    return {
      transaction: async (run) => {
        const database = open();
        try {
          database.exec("BEGIN IMMEDIATE");
          await run(database, (fence) => database.exec(noteOf(fence)));
          database.exec("COMMIT");
        } finally {
          database.close(); // Rolls back what was not committed.
        }
      },
      outside: () => Promise.resolve([main]),
      query: (statement) => {
        const prepared = main.prepare(statement);
        prepared.setReadBigInts(true);
        return Promise.resolve(prepared.all().map((row) => Object.values(row)[0]));
      },
      [Symbol.asyncDispose]: () => Promise.resolve(main.close()),
    };
  },
};

/** The types of the clients fit, too. */
export function typed(
  ...connections: (PoolConnection | mysql2.PoolConnection | MariadbConnection | pg.PoolClient | DatabaseSync)[]
): readonly Transaction[] {
  return connections;
}

/** What all connections of MySQL have. */
interface Connection {
  beginTransaction(): Promise<unknown>;
  commit(): Promise<unknown>;
  rollback(): Promise<unknown>;
  query(statement: string): Promise<unknown>;
}

function inMysql<Kind extends { release(): unknown }>(
  connect: () => Promise<Kind>,
  promised: (connection: Kind) => Connection,
  rows: (statement: string) => Promise<unknown[][]>,
): Pick<Database, "transaction" | "query"> {
  return {
    transaction: async (run) => {
      const connection = await connect();
      const plain = promised(connection);
      try {
        await plain.beginTransaction();
        await run(connection as unknown as Transaction, (fence) => plain.query(noteOf(fence)));
        await plain.commit();
      } catch (error) {
        await plain.rollback().catch(() => {}); // The connection may be gone.
        throw error;
      } finally {
        await connection.release();
      }
    },
    query: async (statement) => {
      const result = await rows(statement);
      return Array.isArray(result) ? result.map(([first]) => first) : [];
    },
  };
}

/** Returns a connection that is not inside a transaction. */
async function lent<Kind extends { release(): unknown }>(pool: { getConnection(): Promise<Kind> }): Promise<Kind> {
  const connection = await pool.getConnection();
  await connection.release();
  return connection;
}

/** Returns the fences of the journal, in the order in which they were written. */
export async function journalOf(database: Database): Promise<bigint[]> {
  return (await database.query("SELECT fence FROM journal ORDER BY id")).map((fence) => BigInt(`${fence}`));
}
