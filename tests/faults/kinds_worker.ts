/**
 * The program of worker processes that take locks of all kinds: `kinds_worker.ts <redis | sqlite> <port | path>
 * <directory> <task> <count> [options of cohort()]`. Does a task so many times, fails if anybody is inside who must not
 * be, and writes its waits as JSON.
 */
import { Redis } from "npm:ioredis@^6";
import { acquire, acquireAll, type LockEvent } from "../../mod.ts";
import { cohort } from "../../src/cohort/mod.ts";
import type { Kind } from "../../src/contract/store.ts";
import { redis } from "../../src/stores/redis/mod.ts";
import { sqlite } from "../../src/stores/sqlite/mod.ts";
import { excluded } from "../verification/exclusion.ts";
import { ACCOUNTS, PERMITS } from "./kinds.ts";

const [kind, address, directory, task, count, options] = Deno.args as [
  ...[kind: string, address: string, directory: string, task: string, count: string],
  ...[options?: string],
];
const client = kind === "redis" ? new Redis(Number(address), "127.0.0.1") : undefined;

let mode: "shared" | "exclusive" = "exclusive";

/** Writes down in which order all processes come into the queue and out of it. */
function note(what: "waiting" | "granted", owner: string): void {
  Deno.writeTextFileSync(`${directory}/turns`, `${what} ${mode} ${owner}\n`, { append: true });
}

const observer = (event: LockEvent): void => {
  if (event.type === "waiting") note("waiting", event.owner);
};
const kept = client === undefined ? sqlite(address, { observer }) : redis(client, { observer });
const shared = options === undefined ? undefined : cohort(kept, JSON.parse(options));
const store = shared ?? kept;
const waits: Record<string, number[]> = {};

/** Runs something, and notes how long it took. */
async function timed<T>(what: string, run: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await run();
  (waits[what] ??= []).push(performance.now() - started);
  return result;
}

/** Enters the section for a moment, marked by a file; fails if another one is inside that must not be. */
async function inside(kind: Kind): Promise<void> {
  const marker = `${kind}-${crypto.randomUUID()}`;
  Deno.openSync(`${directory}/${marker}`, { write: true, createNew: true }).close();
  const look = () => {
    const others = [...Deno.readDirSync(directory)].flatMap(({ name }) => {
      const [, kind] = name === marker ? [] : /^(shared|exclusive|\d+)-/.exec(name) ?? [];
      return kind === undefined ? [] : [{ kind: (Number(kind) || kind) as Kind }];
    });
    if (excluded({ kind }, others).length > 0) throw new Error(`${kind} met ${JSON.stringify(others)}`);
  };
  look();
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
  look();
  Deno.removeSync(`${directory}/${marker}`);
}

const tasks: Record<string, () => Promise<void>> = {
  /** One section in ten is exclusive. */
  async share() {
    mode = Math.random() < 0.9 ? "shared" : "exclusive";
    await using lock = await timed(mode, () => acquire(store, "shared", { mode }));
    note("granted", lock.owner);
    await inside(mode);
  },
  async permits() {
    await using _lock = await timed("permits", () => acquire(store, "pool", { permits: PERMITS }));
    await inside(PERMITS);
  },
  /** Moves money between accounts that are picked at random, in files that only the locks protect. */
  async accounts() {
    const picked = ACCOUNTS.filter(() => Math.random() < 0.5);
    if (picked.length < 2) picked.splice(0, picked.length, "1", "2");
    await using locks = await timed("accounts", () => acquireAll(store, picked.toSorted(() => Math.random() - 0.5)));
    const [from, to] = [picked[0], picked.at(-1)];
    const read = (account: string | undefined) => Number(Deno.readTextFileSync(`${directory}/${account}`));
    const [less, more] = [read(from) - 1, read(to) + 1];
    await new Promise((resolve) => setTimeout(resolve, 1));
    locks.signal.throwIfAborted();
    Deno.writeTextFileSync(`${directory}/${from}`, `${less}`);
    Deno.writeTextFileSync(`${directory}/${to}`, `${more}`);
    Deno.writeTextFileSync(`${directory}/moves`, `${from} ${to}\n`, { append: true });
  },
};

for (let done = 0; done < Number(count); done++) await tasks[task]!();
console.log(JSON.stringify(waits));
// It may linger: whoever exits without this may leave a lock for its whole lease.
await shared?.[Symbol.asyncDispose]();
await client?.quit();
Deno.exit();
