import {
  type PostgresKind,
  postgresKind,
  type QueryClient,
  type UnsafeClient,
} from "../../internal/sql/postgres_client.ts";
import { checkKeys, show } from "../../internal/validation.ts";
import type { CasOptions } from "../../engine/options.ts";

/** The part of `sql` of postgres.js that the store uses. */
export interface PostgresJsClient extends UnsafeClient {
  /** Closes all connections. A transaction and a reserved connection have no such method. */
  end(): PromiseLike<unknown>;
  /** Listens to a channel on a connection of its own. */
  listen?(channel: string, notified: (payload: string) => void, opened?: () => void): PromiseLike<unknown>;
}

/** The part of a `Pool` of pg that the store uses. */
export interface PgPool extends QueryClient {
  /** How many connections it has. Tells it from a `Client`. */
  readonly totalCount: number;
  /** Whether it is closed, or being closed. */
  readonly ending?: boolean;
}

/** The part of a PGlite that the store uses. */
export interface PgliteClient extends QueryClient {
  /** Whether it is closed. */
  readonly closed: boolean;
  /** Listens to a channel. */
  listen?(channel: string, notified: (payload: string) => void): PromiseLike<unknown>;
}

/** A client of the database: of a known library, or any object that runs each statement by itself and commits it. */
export type PostgresClient = PostgresJsClient | PgPool | PgliteClient | QueryClient;

/** The part of a `Client` of pg that the store uses for listening. */
export interface PgClient {
  /** Connects. */
  connect(): PromiseLike<unknown>;
  /** Runs a statement. */
  query(text: string): PromiseLike<unknown>;
  /** Closes the connection. */
  end(): PromiseLike<unknown>;
  /** Calls a function at each event. */
  on(
    event: "notification",
    listener: (message: { readonly channel: string; readonly payload?: string | undefined }) => void,
  ): unknown;
  /** Calls a function when the connection is lost. */
  on(event: "error" | "end", listener: () => void): unknown;
  /** Allows the process to end while it is open. */
  unref?(): unknown;
}

/** The options of `postgres()`. */
export interface PostgresOptions extends CasOptions {
  /** The schema of the table; `"public"` when left out. */
  readonly schema?: string | undefined;
  /** The table; `"holdfast_locks"` when left out. It is made at the first use. */
  readonly table?: string | undefined;
  /**
   * How waiters are woken: `true` for a connection of its own that `client` opens (postgres.js, PGlite); a function
   * that returns a new `Client` of pg; or another `sql` of postgres.js, with a direct URL, where `client` goes through
   * a pooler. When left out, waiters poll every 50 to 500 ms.
   */
  readonly listen?: boolean | PostgresJsClient | (() => PgClient) | undefined;
  /**
   * How far apart the clocks may be of the servers of which one is the primary, in milliseconds; 0 when left out. The
   * documentation of `cas()` has a table of what it does.
   */
  readonly maxClockSkew?: number | undefined;
}

/** The options, checked and with their defaults. */
export interface PostgresSettings {
  readonly kind: PostgresKind;
  readonly schema: string;
  readonly table: string;
  readonly listen: true | PostgresJsClient | (() => PgClient) | undefined;
  readonly engine: CasOptions;
}

/** The longest names in bytes: the name of the channel has both, and may have 63 bytes. */
const MAX_NAMES_BYTES = 53;

const WANTED =
  "client must be sql of postgres.js, a Pool of pg, a PGlite, or an object whose query(text) commits each statement";

/** The advice for clients that would undo a lock with a transaction, or pin a connection. */
const MISTAKEN: Readonly<Partial<Record<PostgresKind, string>>> = {
  "postgres.js transaction": "a transaction of postgres.js, whose rollback would undo the lock. Pass sql itself",
  "postgres.js reserved": "a reserved connection of postgres.js, which may be in a transaction. Pass sql itself",
  "pg client": "a Client of pg, which may be in a transaction whose rollback would undo the lock. Pass the Pool",
  "pglite transaction": "a transaction of PGlite, whose rollback would undo the lock. Pass the PGlite",
};

/** Checks a client and the options, and separates the engine's options. */
export function checkPostgresOptions(client: PostgresClient, options: PostgresOptions): PostgresSettings {
  const kind = postgresKind(client);
  if (kind === undefined) throw new TypeError(`${WANTED}: got ${show(client)}`);
  const mistake = MISTAKEN[kind];
  if (mistake !== undefined) throw new TypeError(`${WANTED}: got ${mistake}`);
  const known = ["schema", "table", "listen", "maxClockSkew", "observer"];
  const { schema = "public", table = "holdfast_locks", listen, ...engine } = checkKeys(options, known);
  checkIdentifier("schema", schema);
  checkIdentifier("table", table);
  const bytes = new TextEncoder().encode(schema + table).length;
  if (bytes > MAX_NAMES_BYTES) {
    throw new RangeError(`schema and table must have at most ${MAX_NAMES_BYTES} bytes of UTF-8 together: got ${bytes}`);
  }
  return { kind, schema, table, listen: checkListen(client, kind, listen), engine };
}

function checkIdentifier(option: string, name: string): void {
  if (typeof name !== "string") throw new TypeError(`${option} must be a string: got ${show(name)}`);
  if (name === "") throw new RangeError(`${option} must not be empty: got ""`);
  if (!name.isWellFormed() || name.includes("\0")) {
    throw new TypeError(`${option} must be well-formed Unicode without NUL: got ${show(name)}`);
  }
}

function checkListen(
  client: PostgresClient,
  kind: PostgresKind,
  listen: PostgresOptions["listen"],
): PostgresSettings["listen"] {
  if (listen === undefined || listen === false) return undefined;
  if (listen === true) {
    if ("listen" in client && (kind === "postgres.js" || kind === "pglite")) return true;
    throw new TypeError(
      "listen must be a function that returns a new Client of pg, as () => new Client(url): got true",
    );
  }
  const listening = postgresKind(listen);
  if (listening === "postgres.js" || listening === undefined && typeof listen === "function") return listen;
  const wanted = "listen must be a boolean, a function that returns a new Client of pg, or sql of postgres.js";
  throw new TypeError(`${wanted}: got ${show(listen)}`);
}
