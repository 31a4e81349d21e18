/**
 * The benchmark, `deno task bench`: Holdfast against the least that a lock on Redis can be, in turns, in one run.
 *
 * @module
 */
import { INTERRUPTED, readOptions } from "../tests/support/command_line.ts";
import { Interruption, premature, reason } from "../tests/support/interruption.ts";
import { RedisServer } from "../tests/support/redis_server.ts";
import { onEtcd, onZookeeper } from "./consensus.ts";
import { clients } from "./clients.ts";
import { contended } from "./contended.ts";
import { cpu } from "./cpu.ts";
import { inDenoKv } from "./deno_kv.ts";
import { distinct } from "./distinct.ts";
import { embedded } from "./embedded.ts";
import { engine } from "./engine.ts";
import { etcdHeld } from "./etcd_held.ts";
import { type Figure, met } from "./figure.ts";
import { handoff } from "./handoff.ts";
import { held } from "./held.ts";
import { Load, LoadedError } from "./load.ts";
import { local } from "./local.ts";
import { lone } from "./lone.ts";
import { describe, headline, type Machine } from "./machine.ts";
import { type Options, programOf } from "./options.ts";
import { Progress } from "./progress.ts";
import { json, table } from "./report.ts";
import { onMemcached } from "./memcached.ts";
import { onMysql } from "./mysql.ts";
import { names, namesInEtcd, namesInMariadb, namesInZookeeper } from "./names.ts";
import { observed } from "./observed.ts";
import { redlock } from "./redlock.ts";
import { repeated } from "./repeated.ts";
import type { Row } from "./row.ts";
import { concurrent, kinds, uncontended } from "./uncontended.ts";
import { sql } from "./sql.ts";
import { sqlHeld } from "./sql_held.ts";
import { waiting } from "./waiting.ts";
import { workers } from "./workers.ts";

const ROWS: Readonly<Record<string, Row>> = {
  uncontended,
  cpu,
  concurrent,
  contended,
  handoff,
  held,
  kinds,
  redlock,
  embedded,
  engine,
  memcached: onMemcached,
  "deno-kv": inDenoKv,
  sql,
  "sql-held": sqlHeld,
  names,
  "names-mysql": namesInMariadb,
  "names-etcd": namesInEtcd,
  "names-zookeeper": namesInZookeeper,
  mysql: onMysql,
  etcd: onEtcd,
  "etcd-held": etcdHeld,
  zookeeper: onZookeeper,
  workers,
  local,
  repeated,
  distinct,
  waiting,
  lone,
  observed,
  clients,
};

/** How much of the usual time `--quick` takes. */
const QUICK = 1 / 7;

/** The exit status when the machine has other things to do: nothing that it measures means anything. */
const LOADED = 3;

async function main(args: string[]): Promise<number> {
  const options = readOptions(programOf(Object.keys(ROWS)), args);
  if (typeof options === "number") return options;
  const ended = premature();
  try {
    return await run(options, ended);
  } catch (error) {
    console.error(reason(error));
    if (error instanceof LoadedError) return LOADED;
    return ended.reason instanceof Interruption ? INTERRUPTED : 1;
  }
}

async function run(options: Options, ended: AbortSignal): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const progress = new Progress();
  stack.defer(() => progress.end());
  const over = Promise.withResolvers<never>();
  ended.addEventListener("abort", () => over.reject(ended.reason));
  const load = new Load(options.force);
  const figures: Figure[] = [];
  const machine = await Promise.race([measure(options, load, progress, stack, figures), over.promise])
    .catch((error: unknown) => {
      progress.end();
      // What was measured before an interruption or a failure is not lost.
      if (figures.length > 0) console.log(table(figures, true));
      throw error;
    });
  progress.end();
  const { loaded } = load;
  console.log(`${headline(machine)}\n\n${table(figures, loaded)}`);
  await Deno.writeTextFile(
    options.json ?? new URL("results.json", import.meta.url),
    json(figures, { ...machine, quick: options.quick }, loaded),
  );
  if (loaded) {
    console.error("The machine was loaded: these figures are worthless, and nothing is judged.");
    return LOADED;
  }
  return options.strict && figures.some((figure) => met(figure) === false) ? 1 : 0;
}

async function measure(
  options: Options,
  load: Load,
  progress: Progress,
  stack: AsyncDisposableStack,
  figures: Figure[],
): Promise<Machine> {
  await load.look();
  const directory = await Deno.makeTempDir({ prefix: "holdfast_bench_" });
  stack.defer(() => Deno.remove(directory, { recursive: true }));
  const starting = RedisServer.start();
  // Before it is up: the run may be interrupted at any moment.
  stack.defer(() => starting.then((server) => server[Symbol.asyncDispose](), () => {}));
  const server = await starting;
  const machine = await describe(server.connect());
  for (const name of options.only) {
    progress.begin(name);
    const show = (text: string) => progress.show(text);
    const scale = options.quick ? QUICK : 1;
    figures.push(...await ROWS[name]!({ server, directory, scale, stack, progress: show }));
    // What began while it was measured is seen when it is not.
    await load.look();
  }
  return machine;
}

Deno.exit(await main(Deno.args));
