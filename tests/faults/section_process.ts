/** A process of contention_sql_test.ts: enters sections on a lock, and writes what it finds in each into a table. */
import { acquire } from "@holdfast/lock";
import { postgres } from "@holdfast/lock/postgres";
import { runPostgres } from "../../src/internal/sql/postgres_client.ts";
import { connectWith, type Library } from "../stores/postgres/clients.ts";

const [library, url, schema, sections] = Deno.args as [Library, string, string, string];
const connected = connectWith(library, url);
const store = postgres(connected.client, { schema, listen: connected.listen });
for (let i = 0; i < Number(sections); i++) {
  await using lock = await acquire(store, "sections");
  // Read and written in two steps: two at a time would lose one.
  const [[before] = []] = await runPostgres(connected.client, `SELECT count::text FROM ${schema}.counter`);
  const next = Number(before) + 1;
  await runPostgres(
    connected.client,
    `UPDATE ${schema}.counter SET count = ${next}, falls = falls + (fence >= ${lock.fence})::int, fence = ${lock.fence}`,
  );
}
await connected[Symbol.asyncDispose]();
