import type { Observer, Store } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { countCommands, resetCommands } from "./commands.ts";
import type { Figure } from "./figure.ts";
import { idlePing, type Pinging } from "./idle_ping.ts";
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

/** What is handed on where, and with what that is compared. */
export interface HandoffsOptions {
  /** What stands before the number of waiters. */
  readonly what: string;
  readonly waiters: number;
  readonly open: (observer: Observer) => Store;
  /** The smallest request to the server, and its name. */
  readonly client: Pinging;
  readonly ping: string;
  /** How many times as long as such a request a handoff may take; it is only printed when left out. */
  readonly most?: number;
  /** Counts what the server was sent, from its call to the call of what it returns. */
  readonly count?: () => Promise<() => Promise<number>>;
}

/**
 * From the call of `release` until the next holder runs, against a PING after an equally long idle time: a processor
 * that was asleep takes its time to answer either.
 */
export async function handoff(bench: Bench): Promise<Figure[]> {
  const { server, scale, progress } = bench;
  const client = server.connect();
  const figures: Figure[] = [];
  for (const waiters of WAITERS) {
    const open = (observer: Observer) => redis(server.connect(), { prefix: `${waiters}:`, observer });
    const count = async () => {
      await resetCommands(client);
      return async () => (await countCommands(client)).scripts;
    };
    figures.push(...await handoffs({ what: "handoff", waiters, open, client, ping: "PING", most: 3, count }, bench));
  }
  const pings: number[] = [];
  while (pings.length < QUIET) pings.push(await idlePing(client));
  progress("its two scripts by themselves");
  const raw = await rawHandoffs([server.connect(), server.connect()], Math.ceil(RAW * scale) + WARM_UP);
  while (pings.length < 2 * QUIET) pings.push(await idlePing(client));
  const [attempted, granted] = [raw.attempted, raw.granted].map((times) => median(times.slice(WARM_UP)));
  return [
    ...figures,
    {
      what: "its two scripts and the message by themselves, p50",
      ours: { value: attempted!, unit: "ms" },
      reference: { name: "PING", value: median(pings), unit: "ms" },
      ratio: attempted! / median(pings),
    },
    {
      what: "the same if the release granted the lock, p50",
      ours: { value: granted!, unit: "ms" },
      reference: { name: "its two scripts and the message", value: attempted!, unit: "ms" },
      ratio: granted! / attempted!,
    },
  ];
}

/** Measures handoffs with so many waiters. */
export async function handoffs(options: HandoffsOptions, { scale, progress }: Bench): Promise<Figure[]> {
  const { client, waiters } = options;
  const quiet: number[] = [];
  const between: number[] = [];
  while (quiet.length < QUIET) quiet.push(await idlePing(client));
  const counted = await options.count?.();
  const times = await relay({
    open: options.open,
    waiters,
    seconds: SECONDS * scale,
    between: async () => void between.push(await idlePing(client)),
    progress: (text) => progress(`${waiters} waiting, ${text}`),
  });
  const scripts = await counted?.();
  // In turns, as machines change their pace; unless it is the waiters that keep the server busy.
  const reference = median(between) > BUSY * median(quiet) ? quiet : between;
  return compare(options, times, reference, { idle: IDLE, scripts, quietPing: summarize(quiet) });
}

function compare(
  { what, waiters, ping: name, most }: HandoffsOptions,
  times: number[],
  pings: number[],
  details: Figure["details"],
): Figure[] {
  const ours = summarize(times);
  const ping = summarize(pings);
  const title = (part: string) => `${what}, ${waiters.toLocaleString("en")} waiting, ${part}`;
  return [
    {
      what: title("p50"),
      ours: { value: ours.median, unit: "ms" },
      reference: { name, value: ping.median, unit: "ms" },
      ratio: ours.median / ping.median,
      ...most !== undefined && { target: { bound: "at most", value: most } },
      details: { ...details, ours, ping },
    },
    {
      what: title("p95"),
      ours: { value: ours.p95, unit: "ms" },
      reference: { name, value: ping.p95, unit: "ms" },
      ratio: ours.p95 / ping.p95,
    },
  ];
}
