import { redis } from "@holdfast/lock/redis";
import { countCommands, resetCommands } from "./commands.ts";
import type { Figure } from "./figure.ts";
import { idlePing } from "./idle_ping.ts";
import { rawHandoffs } from "./raw_handoffs.ts";
import { IDLE, relay } from "./relay.ts";
import type { Bench } from "./row.ts";
import { median, summarize } from "./statistics.ts";

/** How long the queue is. */
const WAITERS = [1, 100, 1_000];

/** For each length. */
const SECONDS = 10;

/** So many PINGs are measured while nobody waits. */
const QUIET = 40;

/** How many handoffs are measured with nothing of ours around them, after how many that do not count. */
const RAW = 200;
const WARM_UP = 20;

/** Waiters that make PING so many times slower than it is without them are not to gain by it. */
const BUSY = 2;

/**
 * From the call of `release` until the next holder runs, against a PING after an equally long idle time: a processor
 * that was asleep takes its time to answer either.
 */
export async function handoff({ server, scale, progress }: Bench): Promise<Figure[]> {
  const client = server.connect();
  const ping = () => idlePing(client);
  const figures: Figure[] = [];
  for (const waiters of WAITERS) {
    const quiet: number[] = [];
    const between: number[] = [];
    while (quiet.length < QUIET) quiet.push(await ping());
    await resetCommands(client);
    const times = await relay({
      open: (observer) => redis(server.connect(), { prefix: `${waiters}:`, observer }),
      waiters,
      seconds: SECONDS * scale,
      between: async () => void between.push(await ping()),
      progress: (text) => progress(`${waiters} waiting, ${text}`),
    });
    const { scripts } = await countCommands(client);
    // In turns, as machines change their pace; unless it is the waiters that keep the server busy.
    const reference = median(between) > BUSY * median(quiet) ? quiet : between;
    figures.push(...compare(waiters, times, reference, { idle: IDLE, scripts, quietPing: summarize(quiet) }));
  }
  const pings: number[] = [];
  while (pings.length < QUIET) pings.push(await ping());
  progress("its two scripts by themselves");
  const raw = await rawHandoffs([server.connect(), server.connect()], Math.ceil(RAW * scale) + WARM_UP);
  while (pings.length < 2 * QUIET) pings.push(await ping());
  const ours = median(raw.slice(WARM_UP));
  return [...figures, {
    what: "its two scripts and the message by themselves, p50",
    ours: { value: ours, unit: "ms" },
    reference: { name: "PING", value: median(pings), unit: "ms" },
    ratio: ours / median(pings),
  }];
}

function compare(waiters: number, times: number[], pings: number[], details: Figure["details"]): Figure[] {
  const ours = summarize(times);
  const ping = summarize(pings);
  const what = (part: string) => `handoff, ${waiters.toLocaleString("en")} waiting, ${part}`;
  return [
    {
      what: what("p50"),
      ours: { value: ours.median, unit: "ms" },
      reference: { name: "PING", value: ping.median, unit: "ms" },
      ratio: ours.median / ping.median,
      target: { bound: "at most", value: 3 },
      details: { ...details, ours, ping },
    },
    {
      what: what("p95"),
      ours: { value: ours.p95, unit: "ms" },
      reference: { name: "PING", value: ping.p95, unit: "ms" },
      ratio: ours.p95 / ping.p95,
    },
  ];
}
