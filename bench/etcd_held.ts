import { EtcdServer } from "../tests/support/etcd_server.ts";
import { etcdCounts } from "./etcd.ts";
import type { Figure } from "./figure.ts";
import { hold, kept } from "./held.ts";
import type { HeldOptions } from "./held_process.ts";
import { pause } from "./pause.ts";
import type { Bench } from "./row.ts";

/** How many locks are held, how long one lasts without a renewal, and for how long all are held, in milliseconds. */
const LOCKS = 1_000;
const LEASE = 30_000;
const HOLD = 600_000;

/** The part of that time after which revisions are compacted: after five minutes of ten, as the page recommends. */
const COMPACTED = 1 / 2;

/** How often the size of the database is looked at, in milliseconds. */
const LOOK = 1_000;

/** Measures many locks that are held in etcd, which keeps each renewal until it is compacted. */
export async function etcdHeld({ stack, scale, directory, progress }: Bench): Promise<Figure[]> {
  const time = HOLD * scale;
  const retention = `--auto-compaction-retention=${Math.round(time * COMPACTED / 1_000)}s`;
  const server = await EtcdServer.start(["--auto-compaction-mode=periodic", retention], directory);
  stack.defer(() => server[Symbol.asyncDispose]());
  const options: HeldOptions = { url: server.url, locks: LOCKS, lease: LEASE, hold: time };
  const title = `etcd, ${LOCKS.toLocaleString("en")} held locks`;
  progress(`${title} for ${Math.round(time / 1_000)} s`);
  const ended = new AbortController();
  const [result, largest] = await Promise.all([
    hold(options, stack).finally(() => ended.abort()),
    largestDatabase(server.url, ended.signal),
  ]);
  const [first, last] = result.counted as [Record<string, number>, Record<string, number>];
  const since = (what: string) => last[what]! - first[what]!;
  const megabytes = (bytes: number) => ({ value: bytes / 1e6, unit: "MB" });
  return [
    kept(title, options, result),
    {
      what: `${title}: largest database`,
      ours: megabytes(largest),
      reference: { name: "before", ...megabytes(first["database"]!) },
      details: { compacted: await server.metric("etcd_debugging_mvcc_compact_revision") },
    },
    { what: `${title}: database in use afterwards`, ours: megabytes(last["used"]!) },
    { what: `${title}: memory of the server`, ours: megabytes(last["memory"]!) },
    {
      what: `${title}: revisions per renewal`,
      ours: { value: since("revisions") / result.renewals, unit: "" },
      target: { bound: "at most", value: 1.05 },
    },
    { what: `${title}: renewals`, ours: { value: result.renewals / time * 1_000, unit: "/s" } },
    {
      what: `${title}: processor of the server`,
      ours: { value: since("processor") / time * 1e5, unit: "% of a core" },
    },
  ];
}

/** Returns how large the database was at most, until a signal aborts. */
async function largestDatabase(url: string, ended: AbortSignal): Promise<number> {
  let largest = 0;
  for (; !ended.aborted; await pause(LOOK)) largest = Math.max(largest, (await etcdCounts(url))["database"]!);
  return largest;
}
