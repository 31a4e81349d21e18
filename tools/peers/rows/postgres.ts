import { findPostgres } from "../../../tests/support/postgres.ts";
import { processorMs } from "../../../bench/processor.ts";
import type { PeerBench } from "../bench.ts";
import type { Outcome } from "../outcome.ts";
import { contended, processes } from "./contended.ts";
import { free } from "./free.ts";

/** The libraries whose locks are in PostgreSQL, with fsync off, which would hide what they cost. */
export async function postgres(bench: PeerBench): Promise<Outcome[]> {
  const found = findPostgres();
  if ("missing" in found) {
    console.error(`nothing is measured on PostgreSQL: ${found.missing}`);
    return [];
  }
  const { pid } = await bench.postgres();
  const serverMs = () => processorMs(pid!);
  const on = (outcomes: readonly Outcome[]) => {
    return outcomes.map((outcome) => ({
      ...outcome,
      row: `postgres:${outcome.row}`,
      title: `PostgreSQL: ${outcome.title}`,
    }));
  };
  return on([
    await free(
      "uncontended",
      "acquire + release, one at a time",
      { loops: 1, pairs: 100, serverMs },
      bench,
      "postgres",
    ),
    await free(
      "concurrent",
      "acquire + release, 16 names at a time",
      { loops: 16, pairs: 10, serverMs },
      bench,
      "postgres",
    ),
    ...await contended(bench, "postgres"),
    ...await processes(bench, "postgres"),
  ]);
}
