/** What can run statements of PostgreSQL, as told by its shape. */
export type PostgresKind =
  /** `sql` of postgres.js, which has a pool of connections. */
  | "postgres.js"
  /** What `sql.begin()` and `sql.reserve()` of it give: one connection. */
  | "postgres.js transaction"
  | "postgres.js reserved"
  /** `Pool` of pg. */
  | "pg pool"
  /** `Client` of pg, also one that a pool has lent. */
  | "pg client"
  /** A PGlite, which runs in the process. */
  | "pglite"
  /** What `transaction()` of it gives. */
  | "pglite transaction"
  /** Anything else with `query(text)`. */
  | "query";

/** A row, as an object with a property for each column, or as an array. */
export type SqlRow = Readonly<Record<string, unknown>> | readonly unknown[];

/** What runs statements as `query(text)` does. */
export interface QueryClient {
  /** Runs a statement. */
  query(text: string): PromiseLike<{ readonly rows: readonly SqlRow[] }>;
}

/** What runs statements as postgres.js does. */
export interface UnsafeClient {
  /** Runs a statement. */
  unsafe(text: string): PromiseLike<readonly SqlRow[]>;
}

/** Tells by its shape what runs statements of PostgreSQL; `undefined` if nothing that is known. */
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

/** Runs one statement. Resolves to its rows, each as the values of its columns in their order. */
export async function runPostgres(client: QueryClient | UnsafeClient, text: string): Promise<readonly unknown[][]> {
  const rows = "unsafe" in client ? await client.unsafe(text) : (await client.query(text)).rows;
  // Not map(), which keeps gaps: postgres.js 3.4 leaves one for each row of an earlier statement that broke off.
  return rows.flatMap((row) => [Object.values(row)]);
}

/** Returns the SQLSTATE of an error, or what a client library has in its place; an empty text if there is none. */
export function sqlStateOf(error: unknown): string {
  const code = property(error, "code");
  return typeof code === "string" ? code : "";
}

/** Returns a name as an identifier inside a statement. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function property(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null || typeof value === "function"
    ? Reflect.get(value, name)
    : undefined;
}
