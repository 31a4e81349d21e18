import { StoreError } from "../../contract/errors.ts";
import { show } from "../validation.ts";

/** The kinds of clients that run statements of PostgreSQL, told apart by their shapes. */
export type PostgresKind =
  /** `sql` of postgres.js, which has a pool of connections. */
  | "postgres.js"
  /** The result of `sql.begin()` and `sql.reserve()` of postgres.js: one connection. */
  | "postgres.js transaction"
  | "postgres.js reserved"
  /** `Pool` of pg. */
  | "pg pool"
  /** `Client` of pg, also when lent by a pool. */
  | "pg client"
  /** A PGlite, which runs in the process. */
  | "pglite"
  /** The argument of `transaction()` of PGlite. */
  | "pglite transaction"
  /** Anything else with `query(text)`. */
  | "query";

/** A row, as an object with a property for each column, or as an array. */
export type SqlRow = Readonly<Record<string, unknown>> | readonly unknown[];

/** A client that runs statements as `query(text)` does. */
export interface QueryClient {
  /** Runs a statement. */
  query(text: string): PromiseLike<{ readonly rows: readonly SqlRow[] }>;
}

/** A client that runs statements as postgres.js does. */
export interface UnsafeClient {
  /** Runs a statement. */
  unsafe(text: string): PromiseLike<readonly SqlRow[]>;
}

/** Returns the kind of a PostgreSQL client by its shape; `undefined` if it has no known shape. */
export function postgresKind(value: unknown): PostgresKind | undefined {
  const has = (...methods: string[]) => methods.every((method) => typeof property(value, method) === "function");
  if (has("unsafe")) {
    if (has("savepoint")) return "postgres.js transaction";
    if (has("release")) return "postgres.js reserved";
    return has("begin", "end") ? "postgres.js" : undefined;
  }
  if (typeof value === "function" || !has("query")) return undefined;
  if (typeof property(value, "totalCount") === "number" && has("connect")) return "pg pool";
  if (has("escapeLiteral") || has("release")) return "pg client";
  if (has("exec", "transaction", "listen")) return "pglite";
  if (has("exec", "rollback")) return "pglite transaction";
  return "query";
}

/**
 * Runs one statement. Resolves to its rows, each as the values of its columns in their order.
 *
 * @throws {StoreError} a `permanent` one when `query` resolves to something else than `{ rows }`
 */
export async function runPostgres(client: QueryClient | UnsafeClient, text: string): Promise<readonly unknown[][]> {
  const rows = "unsafe" in client ? await client.unsafe(text) : rowsOf(await client.query(text));
  // Not map(), which keeps gaps: postgres.js 3.4 leaves one for each row of an earlier statement that broke off.
  return rows.flatMap((row) => [Object.values(row)]);
}

function rowsOf(result: unknown): readonly SqlRow[] {
  const rows = property(result, "rows");
  if (Array.isArray(rows)) return rows;
  const found = Array.isArray(result) ? "an array, as TypeORM, pg-promise and Sequelize return" : show(result);
  const how = "Wrap it: { query: async (text) => ({ rows: await client.query(text) }) }";
  throw new StoreError(`client.query() must resolve to { rows }, as that of pg does: got ${found}. ${how}`, {
    permanent: true,
  });
}

/** Returns the SQLSTATE of an error, or the substitute of a client library; an empty text if there is none. */
export function sqlStateOf(error: unknown): string {
  const code = property(error, "code");
  return typeof code === "string" ? code : "";
}

/** Returns a name as a quoted identifier. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function property(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null || typeof value === "function"
    ? Reflect.get(value, name)
    : undefined;
}
