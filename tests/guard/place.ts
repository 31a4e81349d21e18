import { findMariadb } from "../support/mariadb.ts";
import { MariadbServer } from "../support/mariadb_server.ts";
import { findPostgres } from "../support/postgres.ts";
import { PostgresServer } from "../support/postgres_server.ts";
import { type ClientName, CLIENTS, type Database, OPEN, TABLES } from "./databases.ts";

const FOUND = { postgres: findPostgres(), mysql: findMariadb(), sqlite: { program: "" } };
for (const found of Object.values(FOUND)) if ("missing" in found) console.log(`tests are skipped: ${found.missing}`);

/** Returns whether there is no server for a client. */
export function isMissing(client: ClientName): boolean {
  return client !== "pglite" && "missing" in FOUND[CLIENTS[client]];
}

let servers: { readonly postgres?: PostgresServer; readonly mysql?: MariadbServer } = {};
let places = 0;

/** Starts the servers before the tests of the file that calls it, and stops them after these. */
export function serve(): void {
  Deno.test.beforeAll(async () => {
    const [postgres, mysql] = await Promise.all([
      "missing" in FOUND.postgres ? {} : PostgresServer.start().then((postgres) => ({ postgres })),
      "missing" in FOUND.mysql ? {} : MariadbServer.start().then((mysql) => ({ mysql })),
    ]);
    servers = { ...postgres, ...mysql };
  });
  Deno.test.afterAll(async () => {
    await servers.postgres?.[Symbol.asyncDispose]();
    await servers.mysql?.[Symbol.asyncDispose]();
  });
}

/** A database of its own for each test. */
export class Place implements AsyncDisposable {
  readonly client: ClientName;
  /** Where it is: what `OPEN` takes. */
  readonly at: string;
  readonly database: Database;
  readonly directory: string;

  private constructor(client: ClientName, at: string, database: Database, directory: string) {
    this.client = client;
    this.at = at;
    this.database = database;
    this.directory = directory;
  }

  /** The port of its server. */
  get port(): number {
    return Number(new URL(this.at).port);
  }

  /** Makes one with the tables, or without. */
  static async open(client: ClientName, { tables = true } = {}): Promise<Place> {
    const directory = await Deno.makeTempDir({ prefix: "holdfast_guard_" });
    const at = await newDatabase(client, directory);
    const database = await OPEN[client](at);
    if (tables) { for (const table of TABLES[CLIENTS[client]]) await database.query(table); }
    return new Place(client, at, database, directory);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]();
    await Deno.remove(this.directory, { recursive: true });
  }
}

async function newDatabase(client: ClientName, directory: string): Promise<string> {
  const name = `guard${++places}`;
  switch (CLIENTS[client]) {
    case "sqlite":
      return `${directory}/data.db`;
    case "mysql":
      await servers.mysql!.query(`CREATE DATABASE ${name}`);
      return `mysql://root@127.0.0.1:${servers.mysql!.port}/${name}`;
    case "postgres": {
      if (client === "pglite") return "";
      await using server = await OPEN.pg(servers.postgres!.url);
      await server.query(`CREATE DATABASE ${name}`);
      return servers.postgres!.url.replace(/\/postgres$/, `/${name}`);
    }
  }
}
