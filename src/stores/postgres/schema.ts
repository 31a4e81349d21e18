import { StoreError } from "../../contract/errors.ts";
import { quoted } from "../../internal/sql/postgres_client.ts";
import { hexOf } from "../../internal/sql/hex.ts";
import { foreignAnswer } from "./failures.ts";
import { qualified, type TableName, text } from "./statements.ts";

/** The columns of the table, in the order of their names. */
const COLUMNS = "name bytea not null, value text not null, version uuid not null";

export type Run = (statement: string) => Promise<readonly unknown[][]>;

/** The schema, the table and the user's rights, as the server reports them. */
interface FoundTable {
  readonly user: string;
  readonly schema: boolean;
  readonly mayUse: boolean;
  readonly mayCreate: boolean;
  /** The kind of the table and of its storage, such as `r` and `p`; empty for a missing table. */
  readonly kind: string;
  readonly columns: string;
  /** Whether the name is unique, and no other column is. */
  readonly unique: boolean;
  readonly mayWrite: boolean;
}

export function tableSql(name: TableName): string {
  return `CREATE TABLE IF NOT EXISTS ${qualified(name)} (name bytea PRIMARY KEY, ` +
    `value text NOT NULL, version uuid NOT NULL) WITH (fillfactor = 50)`;
}

/**
 * Makes the table, unless it is there.
 *
 * @throws {StoreError} a `permanent` error that names the statement to run, when the table is missing or unsuitable
 */
export async function prepareTable(name: TableName, run: Run): Promise<void> {
  let found = await look(name, run);
  if (found.kind === "" && found.mayUse && found.mayCreate) {
    await run(creation(name));
    found = await look(name, run);
  }
  const problem = problemOf(name, found);
  if (problem !== undefined) {
    throw new StoreError(`Cannot use the table ${qualified(name)}: ${problem}`, { permanent: true });
  }
}

/**
 * Returns the statement that makes the table, one process at a time: two processes disturb each other, even with "if
 * not exists". It is a block, which is one statement and so one transaction. It suppresses the notice that the table
 * exists, which postgres.js prints.
 */
function creation(name: TableName): string {
  const lock = `pg_advisory_xact_lock(hashtextextended(${text(hexOf(`${name.schema}.${name.table}`))}, 0))`;
  // What is inside dollars may hold everything but the tag.
  const tag = `$holdfast_${crypto.randomUUID().replaceAll("-", "")}$`;
  return `DO ${tag} BEGIN PERFORM ${lock}; ${QUIET}; ${tableSql(name)}; END ${tag}`;
}

const QUIET = "SET LOCAL client_min_messages = warning";

/** The last value of the row. It shows that the client changes no rows: neither their order, nor upper case. */
const MARK = "Holdfast";

/** How many values the row has; the rows of other statements have fewer. */
const VALUES = 9;

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
      ` coalesce(${rights.join(" AND ")}, false)::text AS may_write, '${MARK}' AS mark` +
      ` FROM (SELECT) AS one LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = ${text(schema)}` +
      ` LEFT JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = ${text(table)}`,
  );
  if (row.length < VALUES) throw foreignAnswer();
  if (row.length > VALUES || row.at(-1) !== MARK) throw changedRow();
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

function changedRow(): StoreError {
  const how = "Pass one without transform.row, transform.value and types for text (postgres.js), or type parsers (pg)";
  return new StoreError(`The client changes the rows that it returns, so that locks cannot be read. ${how}`, {
    permanent: true,
  });
}

/** Returns the fault, and the statement to run. */
function problemOf(
  name: TableName,
  { user, schema, mayUse, kind, columns, unique, mayWrite }: FoundTable,
): string | undefined {
  const [of, to] = [quoted(name.schema), quoted(user)];
  const grant = `GRANT SELECT, INSERT, UPDATE, DELETE ON ${qualified(name)} TO ${to}`;
  if (!schema) return `there is no schema ${of}. Run: CREATE SCHEMA ${of} AUTHORIZATION ${to}`;
  if (!mayUse) return `the user ${to} may not use the schema. Run: GRANT USAGE ON SCHEMA ${of} TO ${to}`;
  if (kind === "") return `it does not exist, and the user ${to} may not make it. Run: ${tableSql(name)}; ${grant}`;
  const rename = `ALTER TABLE ${qualified(name)} RENAME TO ${quoted(`${name.table}_old`)}`;
  if (!kind.startsWith("r")) return "it is no ordinary table. Pass another one as the option table";
  if (columns !== COLUMNS || !unique) {
    const layout = `${columns || "no columns"}${unique ? "" : "; name is not unique"}`;
    return `it has another layout (${layout}). Pass another one as the option table, or run: ${rename}`;
  }
  if (kind === "ru") return `it is UNLOGGED: a crash would empty it. Run: ALTER TABLE ${qualified(name)} SET LOGGED`;
  if (!mayWrite) return `the user ${to} may not write to it. Run: ${grant}`;
  return undefined;
}
