import { install } from "../tests/runtimes/install.ts";
import { MODULES } from "../tests/runtimes/versions.ts";
import { runChild } from "./child.ts";
import type { CpuOptions, CpuRounds, CpuTimes } from "./cpu_process.ts";
import type { Figure } from "./figure.ts";
import type { Bench } from "./row.ts";
import { median, ratios, summarize } from "./statistics.ts";

const PAIRS = 500;
const ROUNDS = 24;

/** How much more processor time of its process a lock may take than the bare pair. */
const CLIENT_TARGET = { bound: "at most", value: 1.5 } as const;

/** A program that a runtime runs, and where it finds the client library. */
interface Runtime {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly ioredis: string;
}

/** The processor time that a free lock takes, in its process and in the server, in Deno and in Node. */
export async function cpu(bench: Bench): Promise<Figure[]> {
  bench.progress("installing Node");
  await install();
  const runtimes: Runtime[] = [
    {
      name: "Deno",
      command: Deno.execPath(),
      args: ["run", "--allow-net=127.0.0.1", "--allow-env", "--allow-sys=hostname"],
      ioredis: import.meta.resolve("ioredis"),
    },
    {
      name: "Node 24",
      command: `${MODULES}/node24/bin/node`,
      args: ["--disable-warning=ExperimentalWarning"],
      ioredis: `file://${await Deno.realPath(`${MODULES}/ioredis`)}/built/index.js`,
    },
  ];
  const figures: Figure[] = [];
  for (const runtime of runtimes) {
    bench.progress(`${runtime.name}, ${ROUNDS} rounds`);
    const rounds = await run(runtime, bench);
    figures.push(
      figure(`client CPU per pair, ${runtime.name}`, rounds, "ours", "client", CLIENT_TARGET),
      figure(`client CPU of its two scripts by themselves, ${runtime.name}`, rounds, "scripts", "client"),
      figure(`server CPU per pair, ${runtime.name}`, rounds, "ours", "server"),
    );
  }
  return figures;
}

function figure(
  what: string,
  rounds: CpuRounds,
  side: keyof CpuRounds,
  part: keyof CpuTimes,
  target?: Figure["target"],
): Figure {
  const [ours, bare] = [rounds[side], rounds.bare].map((times) => times.map((each) => each[part])) as [
    number[],
    number[],
  ];
  const comparison = ratios(ours, bare);
  return {
    what,
    ours: { value: median(ours), unit: "µs" },
    reference: { name: "bare pair", value: median(bare), unit: "µs" },
    ratio: median(comparison),
    ...target === undefined ? {} : { target },
    details: { ratio: summarize(comparison), ours: summarize(ours), reference: summarize(bare) },
  };
}

/** Runs a process of its own, in which nothing else works. */
function run({ command, args, ioredis }: Runtime, { server, scale, stack }: Bench): Promise<CpuRounds> {
  const options: CpuOptions = { port: server.port, ioredis, pairs: PAIRS, rounds: Math.ceil(ROUNDS * scale) };
  const program = new URL("cpu_process.ts", import.meta.url).pathname;
  return runChild(command, [...args, program, JSON.stringify(options)], stack);
}
