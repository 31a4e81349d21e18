/**
 * The comparison, `deno task bench:peers`: Holdfast beside the other lock libraries, in one run.
 *
 * @module
 */
import { INTERRUPTED, readOptions } from "../../tests/support/command_line.ts";
import { Interruption, premature, reason } from "../../tests/support/interruption.ts";
import { PostgresServer } from "../../tests/support/postgres_server.ts";
import { freePort } from "../../tests/support/free_port.ts";
import { RedisServer } from "../../tests/support/redis_server.ts";
import { describe, headline, type Machine } from "../../bench/machine.ts";
import { Progress } from "../../bench/progress.ts";
import { behaviours } from "./behaviours/behaviours.ts";
import type { PeerBench, PeerRow } from "./bench.ts";
import { peer, PEERS, titles } from "./catalogue.ts";
import { denoArguments, UNSAFE_PROTO } from "./deno_arguments.ts";
import { type Options, programOf } from "./options.ts";
import type { Outcome } from "./outcome.ts";
import { pictures } from "./pictures.ts";
import { cold } from "./rows/cold.ts";
import { contended, processes } from "./rows/contended.ts";
import { concurrent, uncontended } from "./rows/free.ts";
import { handoff } from "./rows/handoff.ts";
import { held } from "./rows/held.ts";
import { idle } from "./rows/idle.ts";
import { postgres } from "./rows/postgres.ts";
import { redlock } from "./rows/quorum.ts";
import { summary } from "./summary.ts";
import { table } from "./table.ts";

const ROWS: Readonly<Record<string, PeerRow>> = {
  uncontended,
  concurrent,
  contended,
  processes,
  handoff,
  redlock,
  held,
  idle,
  cold,
  postgres,
};

/** Not a row of figures. */
const BEHAVIOURS = "behaviours";

/** What a run has given so far. */
interface Report {
  readonly machine: Machine;
  readonly outcomes: Outcome[];
  /** The table of behaviours, if it was asked for. */
  readonly behaviours: string | undefined;
}

async function main(args: string[]): Promise<number> {
  const rows = [...Object.keys(ROWS), BEHAVIOURS];
  const peers = PEERS.map(({ id }) => id).filter((id) => !peer(id).bare);
  const options = readOptions(programOf(rows, peers), args);
  if (typeof options === "number") return options;
  const ended = premature();
  try {
    await run(options, ended);
    return 0;
  } catch (error) {
    console.error(reason(error));
    return ended.reason instanceof Interruption ? INTERRUPTED : 1;
  }
}

async function run(options: Options, ended: AbortSignal): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const progress = new Progress();
  stack.defer(() => progress.end());
  const over = Promise.withResolvers<never>();
  ended.addEventListener("abort", () => over.reject(ended.reason));
  const text = await Promise.race([measure(options, progress, stack), over.promise]);
  progress.end();
  console.log(text);
}

/** Writes the report, and returns its text. */
async function write(
  { machine, outcomes, behaviours }: Report,
  { output = new URL("results", import.meta.url).pathname, quick }: Options,
): Promise<string> {
  const parts = [summary(outcomes), ...outcomes.map(table), behaviours].filter((part) => part !== undefined);
  const text = `${machine.date.slice(0, 10)}: ${headline(machine)}\n\n${parts.join("\n\n")}\n`;
  await Deno.writeTextFile(`${output}.md`, text);
  await Deno.writeTextFile(`${output}.json`, `${JSON.stringify({ ...machine, quick, outcomes }, undefined, 2)}\n`);
  for (const [file, svg] of pictures(machine, outcomes)) await Deno.writeTextFile(`${output}_${file}`, svg);
  return text;
}

async function measure(options: Options, progress: Progress, stack: AsyncDisposableStack): Promise<string> {
  const starting = RedisServer.start();
  // Before it is up: the run may be interrupted at any moment.
  stack.defer(() => starting.then((server) => server[Symbol.asyncDispose](), () => {}));
  const server = await starting;
  const machine = await describe(server.connect());
  let broker: Promise<number> | undefined;
  let postgres: Promise<PostgresServer> | undefined;
  const bench: PeerBench = {
    ...{ server, stack, peers: options.peer, quick: options.quick, titles: await titles() },
    broker: () => broker ??= startBroker(stack),
    postgres: () => postgres ??= startPostgres(stack),
    progress: (text) => progress.show(text),
  };
  const outcomes: Outcome[] = [];
  let table: string | undefined;
  let text = "";
  for (const name of options.only) {
    progress.begin(name);
    if (name === BEHAVIOURS) table = await behaviours(bench);
    else outcomes.push(...await ROWS[name]!(bench));
    // After each row: the run takes long, and what it has found so far is not to be lost.
    text = await write({ machine, outcomes, behaviours: table }, options);
  }
  return text;
}

async function startPostgres(stack: AsyncDisposableStack): Promise<PostgresServer> {
  const starting = PostgresServer.start({ settings: { "max_connections": "300" } });
  stack.defer(() =>
    starting.then(async (server) => {
      // Without a look at its processes, which needs rights to all of the system.
      await server.stop();
      await server[Symbol.asyncDispose]();
    }, () => {})
  );
  return await starting;
}

/** Starts the server of the library that has one of its own. */
async function startBroker(stack: AsyncDisposableStack): Promise<number> {
  const port = freePort();
  const process = new Deno.Command(Deno.execPath(), {
    args: denoArguments("broker.ts", [UNSAFE_PROTO], [`${port}`]),
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let ended = false;
  const over = process.status.then(() => ended = true);
  stack.defer(async () => {
    if (!ended) process.kill("SIGKILL");
    await over;
  });
  for (let tries = 0;; tries++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return port;
    } catch (error) {
      if (ended || tries === 3_000) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

Deno.exit(await main(Deno.args));
