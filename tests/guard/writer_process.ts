/**
 * A process whose handles acquire the lock "a" and write into a journal, each in a guarded transaction. It prints what
 * happens, and stops at places where it waits for a line of its input:
 *
 * - `held` when the handle has the lock that has it as number `pauseAt`;
 * - `guarded`, if `pauseInside` is set, in its transaction behind `guard()`;
 * - `committed` or `LockLostError`, with the fence, for each transaction.
 *
 * A handle whose lock was lost tries again.
 *
 * @module
 */
import { acquire, type Lock, LockLostError } from "@holdfast/lock";
import { guard } from "@holdfast/lock/guard";
import { sqlite } from "@holdfast/lock/sqlite";
import { Redis } from "ioredis";
import { lines } from "../support/lines.ts";
import { type ClientName, OPEN } from "./databases.ts";

/** What it is started with, as JSON. */
export interface WriterOptions {
  readonly client: ClientName;
  /** Where the database is. */
  readonly at: string;
  /** The port of a Redis, or the path of a file of SQLite. */
  readonly store: number | string;
  readonly handles: number;
  /** Which handle is paused, from 1; the lock was handed on to it, if it is not the first one. */
  readonly pauseAt: number;
  readonly lease: number;
  readonly pauseInside: boolean;
}

const { client, at, store, handles, pauseAt, lease, pauseInside }: WriterOptions = JSON.parse(Deno.args[0]!);
const redis = typeof store === "number" ? new Redis(store, "127.0.0.1") : undefined;
const target = redis ?? sqlite(store as string);
const database = await OPEN[client](at);
const input = lines(Deno.stdin.readable);
let acquired = 0;

/** Prints what has happened, and waits for a line. */
async function pause(what: string): Promise<void> {
  console.log(what);
  await input.next();
}

/** A lock as it was when its holder looked whether it is held, and was paused directly behind that. */
function justChecked(lock: Lock): Lock {
  return Object.create(lock, {
    held: { value: true },
    fence: { value: lock.fence },
    name: { value: lock.name },
    mode: { value: lock.mode },
    permits: { value: lock.permits },
  });
}

async function section(): Promise<void> {
  for (;;) {
    const lock = await acquire(target, "a", { lease, strict: false });
    const isPaused = ++acquired === pauseAt;
    if (isPaused && !pauseInside) await pause(`held ${lock.fence}`);
    try {
      await database.transaction(async (tx, note) => {
        await guard(tx, justChecked(lock));
        if (isPaused && pauseInside) await pause(`guarded ${lock.fence}`);
        await note(lock.fence);
      });
      console.log(`committed ${lock.fence}`);
      return;
    } catch (error) {
      if (!(error instanceof LockLostError)) throw error;
      console.log(`LockLostError ${lock.fence}`);
    } finally {
      await lock.release().catch(() => {});
    }
  }
}

await Promise.all(Array.from({ length: handles }, section));
await database[Symbol.asyncDispose]();
if (redis !== undefined) redis.disconnect();
Deno.exit();
