import { quoted, text } from "./statements.ts";

export function createTable(table: string): string {
  return `CREATE TABLE IF NOT EXISTS ${quoted(table)} (
  name VARBINARY(1024) NOT NULL PRIMARY KEY,
  version BINARY(16) NOT NULL,
  value LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC`;
}

/** Returns the statement that grants a user the rights of the store, but for `CREATE`. */
export function grantRights(table: string): string {
  return `GRANT SELECT, INSERT, UPDATE, DELETE ON ${quoted(table)} TO …`;
}

/**
 * The query for the settings of the server and of a connection. `SHOW VARIABLES` returns the settings that a server
 * has; `SELECT @@wsrep_on` would fail on a server without it.
 */
export const VARIABLES = "SHOW VARIABLES WHERE Variable_name IN " +
  "('autocommit', 'wsrep_on', 'group_replication_single_primary_mode')";

/** The query for the number of rows that a statement without a limit returns. */
export const ROWS_LIMIT = "SELECT @@sql_select_limit LIMIT 1";

/**
 * Whether several servers decide on writes, each by its clock: Galera, and group replication with several primaries.
 */
export function hasSeveralWriters(variables: ReadonlyMap<string, string>): boolean {
  return variables.get("wsrep_on") === "ON" || variables.get("group_replication_single_primary_mode") === "OFF";
}

/** Returns the query for the columns of a table that this user may see, and for the table's storage engine. */
export function columnsOf(table: string): string {
  const rest = ["t", "c"].map((view) => {
    return `${same(`${view}.TABLE_SCHEMA`, "DATABASE()")} AND ${same(`${view}.TABLE_NAME`, text(table))}`;
  });
  return "SELECT LOWER(c.COLUMN_NAME), LOWER(c.COLUMN_TYPE), c.COLUMN_KEY, c.CHARACTER_SET_NAME, t.ENGINE " +
    `FROM information_schema.TABLES AS t JOIN information_schema.COLUMNS AS c WHERE ${rest.join(" AND ")}`;
}

/**
 * Returns the condition that two names are the same to the server. `=` alone follows a collation: it finds the table,
 * but others as well.
 */
function same(column: string, name: string): string {
  const exact = (name: string) => `CAST(IF(@@lower_case_table_names = 0, ${name}, LOWER(${name})) AS BINARY)`;
  return `${column} = ${name} AND ${exact(column)} = ${exact(name)}`;
}

/** The expected result of {@linkcode columnsOf}, in any order. */
const LAYOUT: readonly string[] = [
  "name varbinary(1024) PRI null InnoDB",
  "value longtext  utf8mb4 InnoDB",
  "version binary(16)  null InnoDB",
];

/** Returns the fault in the columns of a table; nothing if they are as {@linkcode createTable} makes them. */
export function layoutFault(columns: readonly (readonly unknown[])[]): string | undefined {
  const found = columns.map((column) => column.map(String).join(" ")).sort();
  const other = found.find((column) => !LAYOUT.includes(column)) ?? LAYOUT.find((column) => !found.includes(column));
  if (other === undefined) return undefined;
  const engine = columns[0]?.[4];
  if (engine !== "InnoDB") return `its engine is ${engine}: only InnoDB can undo and wait for rows`;
  return `it has other columns: ${other}`;
}
