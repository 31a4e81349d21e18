/**
 * The tests in other runtimes, `deno task test:runtimes`: on the files that npm users get.
 *
 * @module
 */
import { INTERRUPTED, readOptions } from "../support/command_line.ts";
import { reason } from "../support/interruption.ts";
import { requirements } from "../tools/requirements.ts";
import { type Build, build } from "./build.ts";
import { Host } from "./host.ts";
import { install } from "./install.ts";
import { type Options, programOf } from "./options.ts";
import { Progress } from "./progress.ts";
import { failures, type Row, summary, table } from "./report.ts";
import { run } from "./run.ts";
import { RUNTIMES } from "./runtimes.ts";
import { checkTypes, versions } from "./types.ts";
import { FOLDER } from "./versions.ts";

const TYPES = "types";

/** What comes behind the others: it waits for evictions, which workerd gives up on a machine with much to do. */
const ALONE = "objects";

const NAMES = [...Object.keys(RUNTIMES), TYPES];

async function main(args: string[]): Promise<number> {
  const options = readOptions(programOf(NAMES), args);
  if (typeof options === "number") return options;
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort(new Error("interrupted"));
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, interrupt);
  try {
    return await runAll(options, interrupted.signal);
  } catch (error) {
    console.error(reason(error));
    return interrupted.signal.aborted ? INTERRUPTED : 1;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, interrupt);
  }
}

async function runAll({ names }: Options, over: AbortSignal): Promise<number> {
  for (const [variable, program] of Object.entries(await requirements())) Deno.env.set(variable, program);
  await using stack = new AsyncDisposableStack();
  const progress = new Progress(names);
  stack.defer(() => progress.end());
  progress.say("installing the runtimes");
  await install();
  const folder = await Deno.makeTempDir({ dir: FOLDER, prefix: "run_" });
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  progress.say("packing");
  const built = await build(folder);
  const host = stack.use(new Host());
  over.throwIfAborted();
  // All at once: most of the time is spent waiting for leases and servers, not computing.
  const begin = (name: string) => row(name, built, host, progress, over);
  const running = names.filter((name) => name !== ALONE).map(begin);
  const alone = async () => {
    await Promise.allSettled(running);
    over.throwIfAborted();
    return await begin(ALONE);
  };
  if (names.includes(ALONE)) running.push(alone());
  stack.defer(async () => void await Promise.allSettled(running));
  const rows = await Promise.all(running);
  progress.end();
  for (const { name, outcome } of rows) {
    for (const failure of outcome.failures) console.log(`FAILED ${name}: ${failure}\n`);
  }
  console.log(`${table(rows)}\n\n${summary(rows)}`);
  return failures(rows) === 0 ? 0 : 1;
}

async function row(
  name: string,
  built: Build,
  host: Host,
  progress: Progress,
  over: AbortSignal,
): Promise<Row> {
  const started = performance.now();
  const tell = (ended: number) => progress.tell(name, ended);
  const runtime = RUNTIMES[name];
  const version = runtime === undefined ? await versions() : await runtime.version();
  const outcome = runtime === undefined ? await checkTypes(built, tell) : await run(runtime, built, host, tell, over);
  const seconds = (performance.now() - started) / 1_000;
  progress.done(name, outcome);
  return { name, version: version.trim().replace(/^v/, ""), seconds, outcome };
}

Deno.exitCode = await main(Deno.args);
