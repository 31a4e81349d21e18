import { assertEquals } from "@std/assert";
import { ROWS_LIMIT, VARIABLES } from "../../../src/stores/mysql/schema.ts";
import { MysqlBackend } from "../../../src/stores/mysql/store.ts";

const COLUMNS = [
  ["name", "varbinary(1024)", "PRI", null, "InnoDB"],
  ["value", "longtext", "", "utf8mb4", "InnoDB"],
  ["version", "binary(16)", "", null, "InnoDB"],
];

/** Returns the backend of a server with a setting. */
function backendOf(name: string, value: string): MysqlBackend {
  const run = (sql: string) => {
    if (sql === VARIABLES) return Promise.resolve([["autocommit", "ON"], [name, value]]);
    if (sql === ROWS_LIMIT) return Promise.resolve([["18446744073709551615"]]);
    return Promise.resolve(sql.includes("information_schema") ? COLUMNS : [[1, 0, 1_764_087_992_000_000, null, null]]);
  };
  return new MysqlBackend({ run, lateBecause: undefined }, "holdfast_locks");
}

const CLUSTERS = [
  ["wsrep_on", "ON", true],
  ["wsrep_on", "OFF", false],
  ["group_replication_single_primary_mode", "OFF", true],
  ["group_replication_single_primary_mode", "ON", false],
] as const;
for (const [name, value, several] of CLUSTERS) {
  Deno.test(`MysqlBackend.severalClocks is ${several} with ${name}=${value}`, async () => {
    const backend = backendOf(name, value);
    await backend.read("a");
    assertEquals(backend.severalClocks, several);
  });
}
