/**
 * The benchmark, `deno task bench`: Holdfast against the least that a lock on Redis can be, in turns, in one run.
 *
 * @module
 */
import { RedisServer } from "../redis_server.ts";
import { contended } from "./contended.ts";
import { embedded } from "./embedded.ts";
import { features } from "./features.ts";
import { type Figure, met } from "./figure.ts";
import { handoff } from "./handoff.ts";
import { held } from "./held.ts";
import { Interruption, premature, reason } from "./interruption.ts";
import { describe, headline, type Machine } from "./machine.ts";
import { type Options, parseOptions, usage } from "./options.ts";
import { Progress } from "./progress.ts";
import { json, table } from "./report.ts";
import { redlock } from "./redlock.ts";
import type { Row } from "./row.ts";
import { concurrent, kinds, uncontended } from "./uncontended.ts";

const ROWS: Readonly<Record<string, Row>> = {
  uncontended,
  concurrent,
  contended,
  handoff,
  held,
  kinds,
  features,
  redlock,
  embedded,
};

/** How much of the usual time `--quick` takes. */
const QUICK = 1 / 7;

/** Exit statuses: as shells use them for a signal and for a wrong command line. */
const INTERRUPTED = 130;
const MISUSED = 2;

async function main(args: string[]): Promise<number> {
  let options: Options;
  try {
    options = parseOptions(args, Object.keys(ROWS));
  } catch (error) {
    console.error(`${reason(error)}\nSee --help.`);
    return MISUSED;
  }
  if (options.help) {
    console.log(usage(Object.keys(ROWS)));
    return 0;
  }
  const ended = premature();
  try {
    return await run(options, ended);
  } catch (error) {
    console.error(reason(error));
    return ended.reason instanceof Interruption ? INTERRUPTED : 1;
  }
}

async function run(options: Options, ended: AbortSignal): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const progress = new Progress();
  stack.defer(() => progress.end());
  const over = Promise.withResolvers<never>();
  ended.addEventListener("abort", () => over.reject(ended.reason));
  const { figures, machine } = await Promise.race([measure(options, progress, stack), over.promise]);
  progress.end();
  console.log(`${headline(machine)}\n\n${table(figures)}`);
  await Deno.writeTextFile(options.json, json(figures, { ...machine, quick: options.quick }));
  return options.strict && figures.some((figure) => met(figure) === false) ? 1 : 0;
}

async function measure(
  options: Options,
  progress: Progress,
  stack: AsyncDisposableStack,
): Promise<{ figures: Figure[]; machine: Machine }> {
  const directory = await Deno.makeTempDir({ prefix: "holdfast_bench_" });
  stack.defer(() => Deno.remove(directory, { recursive: true }));
  const starting = RedisServer.start();
  // Before it is up: the run may be interrupted at any moment.
  stack.defer(() => starting.then((server) => server[Symbol.asyncDispose](), () => {}));
  const server = await starting;
  const machine = await describe(server.connect());
  const figures: Figure[] = [];
  for (const name of options.rows) {
    progress.begin(name);
    const tell = (text: string) => progress.tell(text);
    const scale = options.quick ? QUICK : 1;
    figures.push(...await ROWS[name]!({ server, directory, scale, stack, progress: tell }));
  }
  return { figures, machine };
}

Deno.exit(await main(Deno.args));
