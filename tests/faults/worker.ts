/**
 * The program that worker processes run: `worker.ts <redis | sqlite> <port | path> <options>`. It obeys commands,
 * one JSON object per line of its input, and writes reports in the same way. It ends when its input does, so that none
 * is left over when a test run is killed.
 */
import { Redis } from "npm:ioredis@^6";
import { acquire, type AcquireOptions, type Lock, LockError, type LockEvent } from "../../mod.ts";
import { cohort, type CohortOptions } from "../../src/cohort/mod.ts";
import { redis } from "../../src/stores/redis/mod.ts";
import { sqlite } from "../../src/stores/sqlite/mod.ts";
import { reservingForLong } from "../stores/redis/long_reservations.ts";
import { lines } from "../support/lines.ts";

/** How a worker uses its store. */
export interface WorkerOptions {
  /** Of its cohort, if it uses one. */
  readonly cohort?: CohortOptions | undefined;
  /** Whether what it releases on Redis is reserved for the next waiter for longer than a machine stands still. */
  readonly reservesForLong?: boolean;
}

/** The commands of a worker. */
export type Command =
  /** Acquire a lock and hold it. */
  | { do: "acquire"; name: string; options?: AcquireOptions }
  | { do: "extend"; name: string }
  | { do: "release"; name: string }
  /** Go through a critical section so many times; see {@linkcode section}. */
  | { do: "sections"; name: string; count: number; directory: string }
  /** Ask the lock all the time whether it is held, until the command to stop. */
  | { do: "watch"; name: string }
  | { do: "stop"; name: string }
  /** Close the Redis client. */
  | { do: "close"; by: "quit" | "disconnect" };

/** What a worker reports. Times are of the wall clock, which all processes of a machine share. */
export type Report =
  | { type: "ready" }
  /** It is in the queue. */
  | { type: "waiting"; owner: string }
  | { type: "granted"; owner: string; fence: string; at: number }
  /** A lease was renewed; it ends at the deadline unless it is renewed again. */
  | { type: "renewed"; deadline: number }
  /** The signal of a lock has aborted. */
  | { type: "aborted"; name: string; at: number }
  | { type: "extended" }
  | { type: "released" }
  | { type: "sections"; ms: number }
  /** It is on its way. */
  | { type: "progress" }
  | { type: "watching" }
  /** When it asked for the last time, and when for the last time the lock was still held. */
  | { type: "watched"; lastAsked: number; lastHeld: number }
  | { type: "closed" }
  /** A command failed; the code is that of a `LockError`. */
  | { type: "failed"; command: Command["do"]; code?: string; message: string };

/** After how many sections of all its tasks it reports its progress. */
const PROGRESS = 25;

let sections = 0;

const output = new TextEncoder();

function report(report: Report): void {
  Deno.stdout.writeSync(output.encode(`${JSON.stringify(report)}\n`));
}

function observer(event: LockEvent): void {
  if (event.type === "waiting") report({ type: "waiting", owner: event.owner });
  if (event.type === "renewed") report({ type: "renewed", deadline: Date.now() + event.remaining });
}

const [kind, address, options] = Deno.args as [string, string, string];
const { cohort: cohortOptions, reservesForLong = false }: WorkerOptions = JSON.parse(options);
const client = kind === "redis" ? new Redis(Number(address), "127.0.0.1") : undefined;
if (client !== undefined && reservesForLong) reservingForLong(client);
const kept = client === undefined ? sqlite(address, { observer }) : redis(client, { observer });
const store = cohortOptions === undefined ? kept : cohort(kept, cohortOptions);
const locks = new Map<string, Lock>();
const watching = new Set<string>();

async function obey(command: Command): Promise<void> {
  switch (command.do) {
    case "acquire": {
      const { name } = command;
      const lock = await acquire(store, name, command.options);
      locks.set(name, lock);
      lock.signal.addEventListener("abort", () => report({ type: "aborted", name, at: Date.now() }));
      return report({ type: "granted", owner: lock.owner, fence: `${lock.fence}`, at: Date.now() });
    }
    case "extend":
      await held(command.name).extend();
      return report({ type: "extended" });
    case "release":
      await held(command.name).release();
      return report({ type: "released" });
    case "sections": {
      const started = performance.now();
      for (let done = 0; done < command.count; done++) {
        if (sections++ % PROGRESS === 0) report({ type: "progress" });
        await section(command.name, command.directory);
      }
      return report({ type: "sections", ms: performance.now() - started });
    }
    case "watch":
      return await watch(command.name);
    case "stop":
      watching.delete(command.name);
      return;
    case "close":
      await client![command.by]();
      return report({ type: "closed" });
  }
}

function held(name: string): Lock {
  const lock = locks.get(name);
  if (lock === undefined) throw new Error(`${name} was never acquired`);
  return lock;
}

/**
 * A critical section. It fails if another process is inside as well: only one can make a file that must not exist. It
 * raises a counter, by reading and writing it, and writes down whose turn it was, with the fence and the time.
 */
async function section(name: string, directory: string): Promise<void> {
  await using lock = await acquire(store, name);
  const marker = `${directory}/inside`;
  Deno.openSync(marker, { write: true, createNew: true }).close();
  const counter = Number(await Deno.readTextFile(`${directory}/counter`));
  Deno.writeTextFileSync(`${directory}/turns`, `${lock.owner} ${lock.fence} ${Date.now()}\n`, { append: true });
  await Deno.writeTextFile(`${directory}/counter`, `${counter + 1}`);
  Deno.removeSync(marker);
}

/** Mostly busy, so that a process that is stopped and goes on does so in the middle of this code, not in a timer. */
async function watch(name: string): Promise<void> {
  const lock = held(name);
  let lastAsked = 0;
  let lastHeld = 0;
  const ask = () => {
    for (let asks = 0; asks < 20_000; asks++) {
      lastAsked = Date.now();
      if (lock.held) lastHeld = lastAsked;
    }
  };
  watching.add(name);
  ask();
  report({ type: "watching" });
  while (watching.has(name)) {
    ask();
    await new Promise((resolve) => setTimeout(resolve));
  }
  ask();
  report({ type: "watched", lastAsked, lastHeld });
}

report({ type: "ready" });
for await (const line of lines(Deno.stdin.readable)) {
  const command: Command = JSON.parse(line);
  obey(command).catch((error) => {
    const code = error instanceof LockError ? { code: error.code } : {};
    report({ type: "failed", command: command.do, ...code, message: String(error) });
  });
}
Deno.exit();
