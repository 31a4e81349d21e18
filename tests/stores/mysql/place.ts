import mariadb from "mariadb";
import mysql2 from "mysql2";
import { createPool } from "mysql2/promise";
import type { MysqlCallbackPool, MysqlPool } from "@holdfast/lock/mysql";
import { SystemClock } from "../../../src/time/clock.ts";
import { parseDocument } from "../../../src/engine/document.ts";
import { CasStore } from "../../../src/engine/store.ts";
import { checkMysqlOptions } from "../../../src/stores/mysql/options.ts";
import { MysqlBackend } from "../../../src/stores/mysql/store.ts";
import { findMariadb } from "../../support/mariadb.ts";
import { MariadbServer } from "../../support/mariadb_server.ts";
import { until } from "../../support/until.ts";

const found = findMariadb();
if ("missing" in found) console.log(`the tests on MariaDB are skipped: ${found.missing}`);

/** Whether there is no server. */
export const ignore = "missing" in found;

/** A pool, with what closes it. */
export type Pool = (MysqlPool | MysqlCallbackPool) & { end(): unknown };

/** How a pool of each client is made. */
export const CLIENTS: Readonly<Record<"mysql2" | "mysql2 with callbacks" | "mariadb", (options: object) => Pool>> = {
  "mysql2": (options) => createPool({ ...options }),
  "mysql2 with callbacks": (options) => mysql2.createPool({ ...options }),
  // Without connections that nobody has asked for: one that is being made when the pool ends leaves a timer.
  "mariadb": (options) => mariadb.createPool({ minimumIdle: 0, ...options }),
};

/** The name of a client. */
export type ClientName = keyof typeof CLIENTS;

/**
 * Not to wait for the disk, which would be longer than leases of the suite allow; a killed server still forgets
 * nothing.
 */
const QUICK = ["--innodb-flush-log-at-trx-commit=2", "--max-connections=500"];

/**
 * How often {@linkcode Place.quiet} looks and finds nothing under way. Not for how long: while a busy machine keeps
 * this process from running, its timers wait as well.
 */
const QUIET_LOOKS = 20;

/** A database of its own for each test, on the server of the test file. */
export class Place implements AsyncDisposable {
  static #server: MariadbServer | undefined;
  static #places = 0;
  readonly database: string;
  readonly #pools: Pool[] = [];
  /** How many statements were sent over them, and how many have no answer yet. */
  #sent = 0;
  #running = 0;

  private constructor(database: string) {
    this.database = database;
  }

  /** Makes one, and starts the server before all tests of the file. */
  static async open(): Promise<Place> {
    const place = new Place(`holdfast${++Place.#places}`);
    await Place.server.query(`CREATE DATABASE ${place.database}`);
    return place;
  }

  /** The server of this file. */
  static get server(): MariadbServer {
    if (Place.#server === undefined) throw new Error("the file does not call Place.serve()");
    return Place.#server;
  }

  /** Starts a server before the tests of the file that calls it, and stops it after them. */
  static serve(): void {
    if (ignore) return;
    Deno.test.beforeAll(async () => void (Place.#server = await MariadbServer.start(QUICK)));
    Deno.test.afterAll(async () => await Place.#server?.[Symbol.asyncDispose]());
  }

  /** The options of a client. */
  get options(): object {
    return { ...Place.server.options, database: this.database };
  }

  /** Returns a pool that is closed with the place. */
  pool(client: ClientName = "mysql2", options: object = {}): Pool {
    const pool = CLIENTS[client]({ ...this.options, ...options });
    this.#pools.push(pool);
    if ("promise" in pool) return pool;
    const began = () => [this.#sent++, this.#running++];
    const ended = () => void this.#running--;
    // The store runs statements on the connections of a pool of mysql2, and on a pool of mariadb itself.
    const [query, lend] = [pool.query.bind(pool), pool.getConnection.bind(pool)];
    pool.query = (...args) => (began(), Promise.resolve(query(...args)).finally(ended));
    if (client !== "mysql2") return pool;
    pool.getConnection = async () => {
      began();
      const connection = await Promise.resolve(lend()).catch((error) => {
        ended();
        throw error;
      }) as { release(): void };
      const release = connection.release.bind(connection);
      return Object.assign(connection, { release: () => (ended(), release()) });
    };
    return pool;
  }

  /**
   * Resolves when nothing is under way: nobody waits for the release of a lock that was lost, which may pause
   * meanwhile.
   */
  async quiet(): Promise<void> {
    let [looks, before] = [0, this.#sent];
    await until(() => {
      looks = this.#running === 0 && this.#sent === before ? looks + 1 : 0;
      before = this.#sent;
      return looks === QUIET_LOOKS;
    }, "nothing is under way");
  }

  /** Returns the backend of a new pool. */
  backend(client?: ClientName, options?: object): MysqlBackend {
    return new MysqlBackend(
      checkMysqlOptions(this.pool(client, options) as MysqlPool, {}).connections,
      "holdfast_locks",
    );
  }

  /**
   * Returns a store that does not hand on, for tests that call it themselves. It is connected, and the table is there.
   */
  async engine(client?: ClientName): Promise<CasStore> {
    const backend = this.backend(client);
    // Until then the store does not know how old the time of the first reply is.
    await backend.read("");
    return new CasStore(backend, { maxClockSkew: 10_000, observer: undefined }, new SystemClock());
  }

  /** Runs a statement in the database, over a connection of its own. */
  async query(statement: string): Promise<Record<string, unknown>[]> {
    const [result] = await Place.server.query(`USE ${this.database}; ${statement}`);
    return result![1] as unknown as Record<string, unknown>[];
  }

  /** Returns the names of the locks that are held or waited for. */
  async used(): Promise<string[]> {
    const rows = await this.query("SELECT CONVERT(name USING utf8mb4) AS name, value FROM holdfast_locks");
    return rows.filter(({ name, value }) => !parseDocument(`${name}`, `${value}`).unused).map(({ name }) => `${name}`);
  }

  /** Returns how many connections use the database. */
  async connections(): Promise<number> {
    const rows = await Place.server.query(
      `SELECT COUNT(*) AS count FROM information_schema.PROCESSLIST WHERE DB = '${this.database}'`,
    );
    return Number(rows[0][0]!["count"]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pool of this.#pools) await ended(pool);
    await Place.server.query(`DROP DATABASE ${this.database}`);
  }
}

/** Defines a test with a database of its own. */
export function test(name: string, run: (place: Place) => Promise<void>): void {
  const fn = async () => {
    await using place = await Place.open();
    await run(place);
  };
  Deno.test({ name, fn, ignore });
}

/** Closes a pool, unless it is closed, and waits for that. */
export function ended(pool: Pool): Promise<void> {
  return new Promise((resolve) => {
    if ("promise" in pool) return (pool.end as (done: () => void) => void)(() => resolve());
    Promise.resolve(pool.end()).then(() => resolve(), () => resolve());
  });
}
