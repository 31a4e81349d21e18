import { StoreError } from "../../errors.ts";
import { quoted } from "../../internal/sql/postgres_client.ts";
import { hexOf } from "../../internal/sql/hex.ts";
import { type TableName, text } from "./statements.ts";

/** The columns of the table, in the order of their names. */
const COLUMNS = "name bytea not null, value text not null, version uuid not null";

/** Runs a statement. */
export type Run = (statement: string) => Promise<readonly unknown[][]>;

/** What the server says of the schema and the table, and of the rights of the user. */
interface FoundTable {
  readonly user: string;
  readonly schema: boolean;
  readonly mayUse: boolean;
  readonly mayCreate: boolean;
  /** The kind of the table and of its storage, such as `r` and `p`; empty if there is no table. */
  readonly kind: string;
  readonly columns: string;
  /** Whether the name is unique, and nothing else is. */
  readonly unique: boolean;
  readonly mayWrite: boolean;
}

/** Returns the statement that makes the table. */
export function tableSql({ schema, table }: TableName): string {
  return `CREATE TABLE IF NOT EXISTS ${quoted(schema)}.${quoted(table)} (name bytea PRIMARY KEY, ` +
    `value text NOT NULL, version uuid NOT NULL) WITH (fillfactor = 50)`;
}

/**
 * Makes the table, unless it is there.
 *
 * @throws {StoreError} a `permanent` one that names the statement to run, when it is not there or is of no use
 */
export async function prepareTable(name: TableName, run: Run): Promise<void> {
  let found = await look(name, run);
  if (found.kind === "" && found.mayUse && found.mayCreate) {
    await run(creation(name));
    found = await look(name, run);
  }
  const problem = problemOf(name, found);
  if (problem !== undefined) {
    throw new StoreError(`Cannot use the table ${full(name)}: ${problem}`, { permanent: true });
  }
}

/**
 * Makes the table, one process at a time: two that make one at the same moment disturb each other, even with "if not
 * exists". A block, because that is one statement and so one transaction.
 */
function creation(name: TableName): string {
  const lock = `pg_advisory_xact_lock(hashtextextended(${text(hexOf(`${name.schema}.${name.table}`))}, 0))`;
  // What is inside dollars may hold everything but the tag.
  const tag = `$holdfast_${crypto.randomUUID().replaceAll("-", "")}$`;
  return `DO ${tag} BEGIN PERFORM ${lock}; ${tableSql(name)}; END ${tag}`;
}

async function look({ schema, table }: TableName, run: Run): Promise<FoundTable> {
  const rights = ["SELECT", "INSERT", "UPDATE", "DELETE"].map((right) => `has_table_privilege(c.oid, '${right}')`);
  const [row = []] = await run(
    `SELECT current_user::text AS usr, (n.oid IS NOT NULL)::text AS schema,` +
      ` coalesce(has_schema_privilege(n.oid, 'USAGE'), false)::text AS may_use,` +
      ` coalesce(has_schema_privilege(n.oid, 'CREATE'), false)::text AS may_create,` +
      ` coalesce(c.relkind::text || c.relpersistence::text, '') AS kind,` +
      ` coalesce((SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ||` +
      ` CASE WHEN a.attnotnull THEN ' not null' ELSE '' END, ', ' ORDER BY a.attname)` +
      ` FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), '') AS columns,` +
      ` EXISTS (SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid` +
      ` AND a.attnum = i.indkey[0] WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate` +
      ` AND i.indnkeyatts = 1 AND i.indpred IS NULL AND a.attname = 'name')::text AS uniq,` +
      ` coalesce(${rights.join(" AND ")}, false)::text AS may_write` +
      ` FROM (SELECT) AS one LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = ${text(schema)}` +
      ` LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = ${text(table)}`,
  );
  const [user, hasSchema, mayUse, mayCreate, kind, columns, unique, mayWrite] = row;
  return {
    user: String(user),
    schema: hasSchema === "true",
    mayUse: mayUse === "true",
    mayCreate: mayCreate === "true",
    kind: String(kind),
    columns: String(columns),
    unique: unique === "true",
    mayWrite: mayWrite === "true",
  };
}

/** Says what is wrong, and what to run. */
function problemOf(
  name: TableName,
  { user, schema, mayUse, kind, columns, unique, mayWrite }: FoundTable,
): string | undefined {
  const [of, to] = [quoted(name.schema), quoted(user)];
  const grant = `GRANT SELECT, INSERT, UPDATE, DELETE ON ${full(name)} TO ${to}`;
  if (!schema) return `there is no schema ${of}. Run: CREATE SCHEMA ${of} AUTHORIZATION ${to}`;
  if (!mayUse) return `the user ${to} may not use the schema. Run: GRANT USAGE ON SCHEMA ${of} TO ${to}`;
  if (kind === "") return `it does not exist, and the user ${to} may not make it. Run: ${tableSql(name)}; ${grant}`;
  const rename = `ALTER TABLE ${full(name)} RENAME TO ${quoted(`${name.table}_old`)}`;
  if (!kind.startsWith("r")) return "it is no ordinary table. Pass another one as the option table";
  if (columns !== COLUMNS || !unique) {
    const layout = `${columns || "no columns"}${unique ? "" : "; name is not unique"}`;
    return `it has another layout (${layout}). Pass another one as the option table, or run: ${rename}`;
  }
  if (kind === "ru") return `it is UNLOGGED: a crash would empty it. Run: ALTER TABLE ${full(name)} SET LOGGED`;
  if (!mayWrite) return `the user ${to} may not write to it. Run: ${grant}`;
  return undefined;
}

function full({ schema, table }: TableName): string {
  return `${quoted(schema)}.${quoted(table)}`;
}
