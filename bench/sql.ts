import pg from "pg";
import type { Sql } from "postgres";
import { acquire, type Store } from "@holdfast/lock";
import { postgres } from "@holdfast/lock/postgres";
import type { Figure } from "./figure.ts";
import { handoffs } from "./handoff.ts";
import { BenchPostgres, storeOf } from "./postgres.ts";
import { repeat } from "./repeated.ts";
import type { Bench } from "./row.ts";
import { compare, type Contest } from "./uncontended.ts";
import { type Executed, polling } from "./waiters.ts";
import { contest, withoutRunsAndWith } from "./workers.ts";

/** What is to be reached with and without fsync, which hides overhead, by one loop and by many names at a time. */
const CASES = [
  { fsync: "on", loops: 1, target: 0.8 },
  { fsync: "off", loops: 1, target: 0.7 },
  { fsync: "on", loops: 64, target: 0.65 },
  { fsync: "off", loops: 64, target: 0.5 },
] as const;

const BARE = "INSERT … ON CONFLICT DO NOTHING, DELETE … WHERE owner";

/** How long the queue is where handoffs are measured. */
const WAITERS = [1, 100];

/** Measures the store in PostgreSQL. */
export async function sql(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const one of CASES) figures.push(await pairs(one, bench));
  for (const loops of [1, 64]) figures.push(...await preparing(loops, bench));
  const server = await BenchPostgres.start(bench);
  const client = await prepared(server);
  figures.push(await advisory(server, client, bench));
  for (const waiters of WAITERS) {
    figures.push(
      ...await handoffs({
        what: "PostgreSQL: handoff with LISTEN",
        waiters,
        open: (observer) => server.open({ listen: true, observer }),
        client: { ping: async () => await client.unsafe("SELECT 1") },
        ping: "SELECT 1",
        most: 6,
      }, bench),
    );
  }
  // On a server of its own: connections that were used before and are idle now tell what they did much later.
  const other = (await BenchPostgres.start(bench)).connect();
  figures.push(
    ...await polling({ name: "PostgreSQL", open: () => storeOf(other), executed: () => executed(other) }, bench),
    ...await contest({ name: "PostgreSQL", sides: withoutRunsAndWith(() => server.open({ listen: true })) }, bench),
    await repeat({
      what: "PostgreSQL: the same name again",
      store: storeOf(client),
      bare: () => barePair(client, "repeated"),
      least: 5,
    }, bench),
  );
  return figures;
}

/** Measures pairs against the least that a lock there can be: a row that is inserted and deleted. */
async function pairs({ fsync, loops, target }: typeof CASES[number], bench: Bench): Promise<Figure> {
  const client = await prepared(await BenchPostgres.start(bench, { fsync, "full_page_writes": fsync }));
  const store = storeOf(client);
  const against: Contest = {
    what: `PostgreSQL, fsync ${fsync}: acquire + release${loops === 1 ? "" : `, ${loops} names at a time`}`,
    ours: async (loop) => {
      await using _lock = await acquire(store, `pairs ${loop}`);
    },
    reference: (loop) => barePair(client, `pairs ${loop}`),
    against: BARE,
    target: { bound: "at least", value: target },
  };
  return await compare(against, { loops, pairs: Math.max(1, Math.round(200 / loops)), seconds: 5 }, bench);
}

/** Measures what prepared statements gain over each client, without fsync. */
async function preparing(loops: number, bench: Bench): Promise<Figure[]> {
  const server = await BenchPostgres.start(bench);
  const pool = new pg.Pool({ connectionString: server.url, max: 10 });
  bench.stack.defer(() => pool.end());
  const query = async (text: string) => await pool.query(text);
  const stores = {
    "postgres.js": [storeOf(server.connect()), storeOf(server.connect(10, false)), "prepare: false"],
    "pg": [postgres(pool), postgres({ query }), "statements without a name"],
  } as const;
  const figures: Figure[] = [];
  for (const [client, [ours, reference, against]] of Object.entries(stores)) {
    const pair = async (store: Store, loop: number) => {
      await using _lock = await acquire(store, `prepared ${client} ${loop} ${store === ours}`);
    };
    const contest: Contest = {
      what: `PostgreSQL over ${client}, prepared: acquire + release${loops === 1 ? "" : `, ${loops} names at a time`}`,
      ours: (loop) => pair(ours, loop),
      reference: (loop) => pair(reference, loop),
      against,
    };
    figures.push(await compare(contest, { loops, pairs: Math.max(1, Math.round(200 / loops)), seconds: 5 }, bench));
  }
  return figures;
}

/** Measures what pins a connection, and has neither a lease nor a fence. */
async function advisory(server: BenchPostgres, client: Sql, bench: Bench): Promise<Figure> {
  const [store, pinned] = [storeOf(client), server.connect(1)];
  return await compare(
    {
      what: "PostgreSQL, fsync off: acquire + release",
      ours: async () => {
        await using _lock = await acquire(store, "advisory");
      },
      reference: async () => {
        await pinned.unsafe("SELECT pg_advisory_lock(1)");
        await pinned.unsafe("SELECT pg_advisory_unlock(1)");
      },
      against: "pg_advisory_lock, pg_advisory_unlock",
    },
    { loops: 1, pairs: 200, seconds: 5 },
    bench,
  );
}

/** Connects, and makes the table of the bare pairs. */
async function prepared(server: BenchPostgres): Promise<Sql> {
  const client = server.connect();
  await client.unsafe("CREATE TABLE bare (name text PRIMARY KEY, owner text) WITH (fillfactor = 50)");
  return client;
}

async function barePair(client: Sql, name: string): Promise<void> {
  const owner = crypto.randomUUID();
  const insert = `INSERT INTO bare VALUES ('${name}', '${owner}') ON CONFLICT DO NOTHING RETURNING 1`;
  if ((await client.unsafe(insert)).length !== 1) throw new Error("the row is there");
  await client.unsafe(`DELETE FROM bare WHERE name = '${name}' AND owner = '${owner}'`);
}

/** Each statement of the store is a transaction of its own. Backends tell what they did every second. */
async function executed(client: Sql): Promise<Executed> {
  const [row] = await client.unsafe(
    "SELECT (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()) AS statements, " +
      "sum(n_tup_ins + n_tup_upd + n_tup_del) AS writes FROM pg_stat_user_tables WHERE relname = 'holdfast_locks'",
  );
  return { statements: Number(row!["statements"]), writes: Number(row!["writes"]) };
}
