import { acquire } from "@holdfast/lock";
import type { Figure } from "./figure.ts";
import { BenchPostgres, storeOf } from "./postgres.ts";
import type { Bench } from "./row.ts";
import { compare } from "./uncontended.ts";

/**
 * How many names have a document in each table; `--quick` has a seventh of the many. Even the few are so many that no name is
 * used twice, which would cost no read.
 */
const [FEW, MANY] = [20_000, 1_000_000];

/** Measures the engine on a table with very many names beside one with few, in PostgreSQL. */
export async function names(bench: Bench): Promise<Figure[]> {
  const client = (await BenchPostgres.start(bench)).connect(1);
  const many = Math.round(MANY * bench.scale);
  const section = async (table: string, count: number) => {
    const store = storeOf(client, { table });
    // Makes the table.
    await store.query!({ name: "a" });
    bench.progress(`writes ${count} names`);
    await client.unsafe(filled(table, count));
    await client.unsafe(`VACUUM ANALYZE ${table}`);
    let next = 0;
    return async () => {
      next = (next + 7_919) % count;
      await using _lock = await acquire(store, `name ${next}`);
    };
  };
  const [few, manyNames] = [await section("few", FEW), await section("many", many)];
  return [
    await compare(
      {
        what: `PostgreSQL with ${many.toLocaleString("en")} names: acquire + release of any of them`,
        ours: manyNames,
        reference: few,
        against: `with ${FEW.toLocaleString("en")}`,
        target: { bound: "at least", value: 0.9 },
      },
      { loops: 1, pairs: 200, seconds: 7 },
      bench,
    ),
  ];
}

/** Returns the statement that writes documents of locks that nobody holds, as they are left by a release. */
function filled(table: string, count: number): string {
  const document = `'{"holdfast":1,"name":"name ' || i || '","fence":"1700000000000000","counter":7,` +
    `"used":1700000000000,"holders":[],"queue":[]}'`;
  return `INSERT INTO ${table} (name, value, version) SELECT convert_to('name ' || i, 'UTF8'), ${document}, ` +
    `gen_random_uuid() FROM generate_series(0, ${count - 1}) AS i`;
}
