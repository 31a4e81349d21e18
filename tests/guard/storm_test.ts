// Deno only: it starts servers and processes.
/**
 * A server ends the connections of guarded transactions, as a restart or a time-out of idle transactions does. No
 * process may die of that, and the order must hold.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { guard } from "@holdfast/lock/guard";
import postgres from "postgres";
import { DenoProcess } from "../support/deno_process.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { type ClientName, CLIENTS, type Database, journalOf } from "./databases.ts";
import { isMissing, Place, serve } from "./place.ts";

serve();

/** What happens to the transactions of a process, one after the other. */
const STORM = ["go on", "kill", "kill", "go on", "kill", "go on", "kill", "kill", "end"] as const;

/** Ends the connections that are in a transaction. */
async function endTransactions(client: ClientName, database: Database): Promise<void> {
  if (CLIENTS[client] === "postgres") {
    const ofTransactions = "datname = current_database() AND state LIKE 'idle in transaction%'";
    await database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${ofTransactions}`);
    return;
  }
  const others = "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID()";
  // A connection that was killed before may still be listed, and be gone by then. One that is not killed commits.
  for (const id of await database.query(others)) await database.query(`KILL ${id}`).catch(() => {});
}

for (const client of ["pg", "mysql2", "mysql2 with callbacks", "mariadb"] as const) {
  Deno.test({
    name: `guard() over ${client}: a process survives the end of its connections`,
    ignore: isMissing(client),
    fn: async () => {
      await using place = await Place.open(client);
      await using process = new DenoProcess(import.meta.resolve("./storm_process.ts"), client, place.at);
      const happened: string[] = [];
      const committed: bigint[] = [];
      const storm = STORM.values();
      for await (const line of process.lines) {
        const [what, fence] = line.split(" ");
        if (what !== "guarded") happened.push(what!);
        if (what === "committed") committed.push(BigInt(fence!));
        if (what !== "guarded") continue;
        const next = storm.next().value!;
        if (next === "kill") await endTransactions(client, place.database);
        await process.write(`${next}\n`);
      }
      assertEquals((await process.status).success, true);
      assertEquals(happened, STORM.map((what) => what === "kill" ? "failed" : "committed"));
      assertEquals(await journalOf(place.database), committed);
    },
  });
}

Deno.test({
  name: "guard() over postgres.js: the process dies with its connection, as docs say",
  ignore: isMissing("postgres.js"),
  fn: async () => {
    await using place = await Place.open("postgres.js");
    await using process = new DenoProcess(import.meta.resolve("./storm_process.ts"), "postgres.js", place.at);
    assertEquals((await process.lines.next()).value?.split(" ")[0], "guarded");
    await endTransactions("postgres.js", place.database);
    // A query that is sent before that either fails or is never answered.
    assertEquals((await process.lines.next()).value, "closed");
    await process.write("go on\n");
    await Array.fromAsync(process.lines);
    assertEquals((await process.status).success, false);
    assertEquals(await journalOf(place.database), []);
  },
});

Deno.test({
  name: "guard() over postgres.js may never be answered after a reset, as docs say",
  ignore: isMissing("postgres.js"),
  fn: async () => {
    await using place = await Place.open("postgres.js");
    await using proxy = await TcpProxy.start(place.port);
    const sql = postgres(place.at.replace(`:${place.port}`, `:${proxy.port}`), { max: 1, fetch_types: false });
    const lock = { name: "a", fence: 1n, held: true, mode: "exclusive", permits: undefined } as const;
    let settled = false;
    const transaction = sql.begin(async (tx) => {
      const stalled = proxy.stallReply("SELECT 2");
      const query = tx.unsafe("SELECT 2").catch(() => {});
      await stalled;
      proxy.reset();
      await query;
      // The connection is broken, and its client has not closed it yet.
      await guard(tx, lock).catch(() => {}).finally(() => settled = true);
    });
    await assertRejects(() => transaction, Error, "CONNECTION_CLOSED");
    await sql.end({ timeout: 0 });
    assert(!settled, "guard() was answered");
  },
});
