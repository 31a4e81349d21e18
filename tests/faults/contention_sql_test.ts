// Deno only: it starts processes of Deno, and servers.
import { assertEquals } from "@std/assert";
import { type ClientName, CLIENTS } from "../guard/databases.ts";
import { isMissing, Place, serve } from "../guard/place.ts";
import { DenoProcess } from "../support/deno_process.ts";
import { Pgbouncer } from "../support/pgbouncer.ts";
import { findPgbouncer } from "../support/postgres.ts";
import type { SectionOptions } from "./section_process.ts";

serve();

/**
 * How many processes there are, and how many sections each enters; many more when they are to be searched for faults.
 */
const PROCESSES = 8;
const SECTIONS = Number(Deno.env.get("SECTIONS") ?? 25);

/** Where the locks and the counter are. */
interface Contention {
  /** The clients, of which the processes use one each. */
  readonly clients: readonly [ClientName, ClientName];
  readonly ignore: boolean;
  /** Starts what stands between the processes and the server. */
  readonly pooler?: (place: Place) => Promise<Pgbouncer>;
}

function contention(where: string, { clients, ignore, pooler: start }: Contention): void {
  const fn = async () => {
    const [client] = clients;
    await using place = await Place.open(client);
    await using pooler = await start?.(place);
    await place.database.query("CREATE TABLE counter (raised int, falls int, fence bigint)");
    await place.database.query("INSERT INTO counter VALUES (0, 0, 0)");
    const options = {
      url: pooler === undefined ? place.at : place.at.replace(`:${place.port}/`, `:${pooler.port}/`),
      ...CLIENTS[client] === "postgres" ? { listenAt: place.at } : {},
      sections: SECTIONS,
    };
    await using stack = new AsyncDisposableStack();
    const processes = Array.from({ length: PROCESSES }, (_, i) => {
      const process: SectionOptions = { ...options, client: clients[i % clients.length]! };
      return stack.use(new DenoProcess(import.meta.resolve("./section_process.ts"), JSON.stringify(process)));
    });
    await Promise.all(processes.map((process) => process.output()));
    assertEquals(await place.database.query("SELECT raised FROM counter"), [PROCESSES * SECTIONS]);
    assertEquals(await place.database.query("SELECT falls FROM counter"), [0]);
  };
  Deno.test({ name: `acquire() lets one of ${PROCESSES} processes in at a time, ${where}`, ignore, fn });
}

const POSTGRES = { clients: ["postgres.js", "pg"], ignore: isMissing("pg") } as const;

contention("on PostgreSQL", POSTGRES);

contention("on PostgreSQL behind pgbouncer", {
  ...POSTGRES,
  ignore: POSTGRES.ignore || "missing" in findPgbouncer(),
  pooler: (place) => Pgbouncer.start(place, "transaction"),
});

contention("on MariaDB", { clients: ["mysql2", "mariadb"], ignore: isMissing("mysql2") });
