/**
 * Takes free locks and counts the processor time. Run by `cpu.ts`, in Deno and in Node, with its options as JSON;
 * prints the outcome. So its imports are relative, and the client library comes from where the options say.
 *
 * @module
 */
import process from "node:process";
import type { Redis } from "ioredis";
import { acquire } from "../mod.ts";
import { BarePair } from "./bare.ts";
import { cpuTime } from "./commands.ts";
import { RawScripts } from "./raw_scripts.ts";

/** What is to be measured. */
export interface CpuOptions {
  readonly port: number;
  /** The URL of the client library. */
  readonly ioredis: string;
  /** How many locks each side takes in a round. */
  readonly pairs: number;
  readonly rounds: number;
}

/** Processor time per acquire and release, in microseconds: of the process, and of the server. */
export interface CpuTimes {
  readonly client: number;
  readonly server: number;
}

/** What each side took, by rounds. */
export type CpuRounds = Readonly<Record<"bare" | "scripts" | "ours", readonly CpuTimes[]>>;

/** How many rounds go before those that count: the compiler of the runtime takes a while to be done. */
const WARM_UPS = 6;

async function main({ port, ioredis, pairs, rounds }: CpuOptions): Promise<CpuRounds> {
  const library: { readonly Redis: typeof Redis } = await import(ioredis);
  const connect = () => new library.Redis(port, "127.0.0.1");
  const clients = [connect(), connect(), connect(), connect()] as const;
  const [bare, scripts] = [await BarePair.on(clients[0]), await RawScripts.on(clients[1])];
  // The keys are equally long: "lock:" is the default prefix.
  const sides: Record<keyof CpuRounds, () => Promise<void>> = {
    bare: () => bare.run("lock:bare"),
    scripts: () => scripts.run("lock:raws"),
    ours: async () => await (await acquire(clients[2], "ours")).release(),
  };
  const times: Record<keyof CpuRounds, CpuTimes[]> = { bare: [], scripts: [], ours: [] };
  for (let round = -WARM_UPS; round < rounds; round++) {
    for (const side of Object.keys(sides) as (keyof CpuRounds)[]) {
      const served = await cpuTime(clients[3]);
      const before = process.cpuUsage();
      for (let pair = 0; pair < pairs; pair++) await sides[side]();
      const { user, system } = process.cpuUsage(before);
      const server = (await cpuTime(clients[3]) - served) * 1_000;
      if (round >= 0) times[side].push({ client: (user + system) / pairs, server: server / pairs });
    }
  }
  for (const client of clients) client.disconnect();
  return times;
}

console.log(JSON.stringify(await main(JSON.parse(process.argv[2] ?? ""))));
