import type { Redis } from "ioredis";
import { DenoProcess } from "../../../../tests/support/deno_process.ts";
import { RedisServer } from "../../../../tests/support/redis_server.ts";
import { HANG_MS, until } from "../../../../tests/support/until.ts";
import { type Library, LOG, REGISTER, type WorkerKind } from "./places.ts";
import { overlaps, type SectionEvent } from "./sections.ts";

/** A rolling release. */
export interface RollingOptions {
  readonly library: Library;
  /** How many processes there are of each kind at the beginning. */
  readonly each: number;
  /** How long it takes until all old processes are replaced, in milliseconds. */
  readonly ms: number;
  /** The prefix of those that lock with `acquire`, if it is to be another one than that of the library. */
  readonly prefix?: string;
}

/** What was seen. */
export interface RollingOutcome {
  /** Sections that overlap while their locks were to be trusted. */
  readonly overlaps: readonly string[];
  /** How many sections each kind has entered. */
  readonly sections: Readonly<Record<WorkerKind, number>>;
  /** How many writes with a fence were accepted that are missing in the value. */
  readonly lost: number;
  /** How many writes with a fence were accepted. */
  readonly writes: number;
  /** The keys that stay when all have ended, and the leases of those that were killed are over. */
  readonly left: readonly string[];
}

/** How long what dead waiters leave may stay, in milliseconds: a queue expires after 15 s. */
const EXPIRY_MS = 40_000;

/**
 * Runs processes with the old library, with the drop-in and with `acquire` on one name. One after the other, the old
 * ones are ended or killed, and replaced by the drop-in; between, others are killed and started anew.
 */
export async function roll({ library, each, ms, prefix }: RollingOptions): Promise<RollingOutcome> {
  await using server = await RedisServer.start();
  await using stack = new AsyncDisposableStack();
  const start = async (kind: WorkerKind) => {
    const args = prefix !== undefined && kind === "ours" ? [prefix] : [];
    const worker = new DenoProcess(import.meta.resolve("./worker.ts"), `${server.port}`, library, kind, ...args);
    stack.use(worker);
    await worker.lines.next();
    return worker;
  };
  const client = server.connect();
  const entered = (kind: WorkerKind) =>
    until(async () => count(await eventsOf(client), kind) > 0, `${kind} enters a section`, HANG_MS);
  const kinds: WorkerKind[] = (["old", "compat", "ours"] as const).flatMap((kind) => Array(each).fill(kind));
  const workers = await Promise.all(kinds.slice(0, each).map(start));
  // Those that queue would leave no gap to those that poll, on a slow machine.
  await entered("old");
  workers.push(...await Promise.all(kinds.slice(each).map(start)));
  const step = ms / (2 * each);
  for (let i = 0; i < each; i++) {
    await pause(step);
    // A member of another kind dies, and comes back.
    const mortal = each + Math.floor(Math.random() * 2 * each);
    await workers[mortal]!.kill();
    workers[mortal] = await start(kinds[mortal]!);
    await pause(step);
    if (i % 2 === 0) await stop(workers[i]!);
    else await workers[i]!.kill();
    workers[i] = await start("compat");
  }
  await pause(step);
  await Promise.all([entered("compat"), entered("ours")]);
  await Promise.all(workers.map(stop));
  return await outcome(server, client);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function stop(worker: DenoProcess): Promise<void> {
  await worker.endInput();
  await worker.output();
}

async function eventsOf(client: Redis): Promise<SectionEvent[]> {
  const entries = await client.xrange(LOG, "-", "+");
  return entries.map(([id, fields]) => {
    const { section = "", kind = "", trusted } = Object.fromEntries(fields.map((each, i) => [each, fields[i + 1]]));
    return {
      at: Number(id.split("-")[0]),
      section,
      kind,
      trustedUntil: trusted === undefined ? undefined : Number(trusted),
    };
  });
}

/** Returns how many sections were entered by a kind. */
function count(events: readonly SectionEvent[], entering: WorkerKind): number {
  return events.filter(({ kind, trustedUntil }) => kind === entering && trustedUntil !== undefined).length;
}

async function outcome(server: RedisServer, client: Redis): Promise<RollingOutcome> {
  const events = await eventsOf(client);
  const [value, writes] = (await client.hmget(REGISTER, "value", "writes")).map(Number) as [number, number];
  const left = async () => (await server.leftovers()).filter((key) => !key.startsWith("resource:"));
  await until(async () => (await left()).length === 0, "all that was left expires", EXPIRY_MS).catch(() => {});
  return {
    overlaps: overlaps(events),
    sections: { old: count(events, "old"), compat: count(events, "compat"), ours: count(events, "ours") },
    lost: writes - value,
    writes,
    left: await left(),
  };
}
