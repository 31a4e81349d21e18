import connect from "postgres";
import { acquire } from "@holdfast/lock";
import { postgres, type PostgresJsClient } from "@holdfast/lock/postgres";
import { PostgresServer } from "../tests/support/postgres_server.ts";
import type { Figure } from "./figure.ts";
import type { Bench } from "./row.ts";
import { compare, type Contest } from "./uncontended.ts";

/** What is to be reached with and without fsync, which hides overhead, by one loop and by many names at a time. */
const CASES = [
  { fsync: "on", loops: 1, target: 0.8 },
  { fsync: "off", loops: 1, target: 0.6 },
  { fsync: "on", loops: 64, target: 0.8 },
  { fsync: "off", loops: 64, target: 0.6 },
] as const;

/** Measures the store in PostgreSQL against the least that a lock there can be: a row that is inserted and deleted. */
export async function sql(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { fsync, loops, target } of CASES) {
    const server = await PostgresServer.start({ settings: { fsync, "full_page_writes": fsync } });
    bench.stack.defer(async () => {
      // Without a look at its processes, which needs rights to all of the system.
      await server.stop();
      await server[Symbol.asyncDispose]();
    });
    const client = connect(server.url, { max: 10, onnotice: () => {} });
    bench.stack.defer(() => client.end());
    await client.unsafe("CREATE TABLE bare (name text PRIMARY KEY, owner text) WITH (fillfactor = 50)");
    const store = postgres(client as unknown as PostgresJsClient);
    const contest: Contest = {
      what: `PostgreSQL, fsync ${fsync}: acquire + release${loops === 1 ? "" : `, ${loops} names at a time`}`,
      ours: async (loop) => {
        await using _lock = await acquire(store, `pairs ${loop}`);
      },
      reference: async (loop) => {
        const owner = crypto.randomUUID();
        const insert = `INSERT INTO bare VALUES ('pairs ${loop}', '${owner}') ON CONFLICT DO NOTHING RETURNING 1`;
        if ((await client.unsafe(insert)).length !== 1) throw new Error("the row is there");
        await client.unsafe(`DELETE FROM bare WHERE name = 'pairs ${loop}' AND owner = '${owner}'`);
      },
      against: "INSERT … ON CONFLICT DO NOTHING, DELETE … WHERE owner",
      target: { bound: "at least", value: target },
    };
    figures.push(await compare(contest, { loops, pairs: Math.max(1, Math.round(200 / loops)), seconds: 5 }, bench));
  }
  return figures;
}
