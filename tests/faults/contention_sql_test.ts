// Deno only: it starts processes of Deno, and a server.
import { assertEquals } from "@std/assert";
import { runPostgres } from "../../src/internal/sql/postgres_client.ts";
import { DenoProcess } from "../support/deno_process.ts";
import { connectWith, LIBRARIES, newSchema } from "../stores/postgres/clients.ts";
import { sharedServer } from "../stores/postgres/shared_server.ts";

const { server, ignore } = await sharedServer();

/** How many processes there are, and how many sections each enters; many more when they are to be searched for faults. */
const PROCESSES = 8;
const SECTIONS = Number(Deno.env.get("SECTIONS") ?? 25);

Deno.test({
  name: `acquire() in ${PROCESSES} processes lets one in at a time, with fences that rise`,
  ignore,
  fn: async () => {
    await using admin = connectWith("pg", server().url);
    const schema = await newSchema(admin.client);
    await runPostgres(
      admin.client,
      `CREATE TABLE ${schema}.counter AS SELECT 0 AS count, 0::bigint AS fence, 0 AS falls`,
    );
    await using stack = new AsyncDisposableStack();
    const program = import.meta.resolve("./section_process.ts");
    const processes = Array.from({ length: PROCESSES }, (_, i) => {
      const library = LIBRARIES[i % LIBRARIES.length]!;
      return stack.use(new DenoProcess(program, library, server().url, schema, `${SECTIONS}`));
    });
    await Promise.all(processes.map((process) => process.output()));
    const [row] = await runPostgres(admin.client, `SELECT count::text, falls::text FROM ${schema}.counter`);
    assertEquals(row, [`${PROCESSES * SECTIONS}`, "0"]);
  },
});
