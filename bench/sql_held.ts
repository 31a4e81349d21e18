import type { Figure } from "./figure.ts";
import { hold, kept, LOCKS } from "./held.ts";
import type { HeldOptions } from "./held_process.ts";
import { BenchPostgres } from "./postgres.ts";
import { processorMs } from "./processor.ts";
import type { Bench } from "./row.ts";

/** How long a lock lasts without a renewal, and for how long it is held, in milliseconds. */
const LEASE = 30_000;
const HOLD = 600_000;

/** As the page of the store recommends it, but that autovacuum looks each second, not each minute. */
const AUTOVACUUM = { "autovacuum": "on", "autovacuum_naptime": "1s" };
const TABLE = "ALTER TABLE holdfast_locks SET (autovacuum_vacuum_scale_factor = 0, " +
  "autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0)";

/** Measures many locks that are held in PostgreSQL: each renewal leaves an old row behind. */
export async function sqlHeld(bench: Bench): Promise<Figure[]> {
  const { stack, scale, progress } = bench;
  const server = await BenchPostgres.start(bench, { ...AUTOVACUUM, "fsync": "on", "full_page_writes": "on" });
  const client = server.connect(1);
  await server.open().query!({ name: "makes the table" });
  await client.unsafe(TABLE);
  const options: HeldOptions = { url: server.url, locks: LOCKS, lease: LEASE, hold: HOLD * scale };
  progress(`${LOCKS.toLocaleString("en")} locks in PostgreSQL for ${Math.round(options.hold / 1_000)} s`);
  const before = await processorMs(server.pid);
  const result = await hold(options, stack);
  const [first, last] = result.counted as [Record<string, number>, Record<string, number>];
  const since = (what: string) => last[what]! - first[what]!;
  // Also what the grants and releases took, a few for each hundred renewals.
  const ms = await processorMs(server.pid) - before;
  const statements = result.renewals + 2 * (LOCKS + LOCKS / 5);
  const grown = (what: string, title: string): Figure => ({
    what: `PostgreSQL, ${LOCKS.toLocaleString("en")} held locks: ${title} afterwards`,
    ours: { value: last[what]! / 1e6, unit: "MB" },
    reference: { name: "before", value: first[what]! / 1e6, unit: "MB" },
    ratio: last[what]! / first[what]!,
  });
  return [
    kept(`PostgreSQL, ${LOCKS.toLocaleString("en")} held locks`, options, result),
    {
      what: "PostgreSQL, renewals: share of HOT updates",
      ours: { value: since("hot") / since("updates"), unit: "" },
      target: { bound: "at least", value: 0.95 },
    },
    grown("table", "table"),
    grown("index", "index"),
    { what: "PostgreSQL, processor time per renewal", ours: { value: ms * 1_000 / statements, unit: "µs" } },
    { what: "PostgreSQL, renewals", ours: { value: result.renewals / options.hold * 1_000, unit: "/s" } },
  ];
}
