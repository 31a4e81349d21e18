/**
 * What one process of the demo does. Its argument is its order, in JSON. Each line of its standard input is a command,
 * and each line of its standard output a message, in JSON.
 *
 * @module
 */
import { acquire, isLockLost, type Observer, type Store } from "@holdfast/lock";
import type { OpenStore } from "../../examples/store.ts";
import { Counter } from "./counter.ts";
import { lines } from "./lines.ts";
import { write } from "./record.ts";

/** What a worker does. */
export interface Order {
  /** Raise the counter without or with the lock, or hold the lock. */
  readonly task: "count" | "count locked" | "hold";
  /** The name of the worker, which it writes into the record. */
  readonly author: string;
  /** Where the shared files are. */
  readonly directory: string;
  /** The URL of the store that keeps the lock. */
  readonly store: string;
  /** The name of the lock. */
  readonly lock: string;
  /** In milliseconds. */
  readonly lease: number;
  /** How often to raise the counter. */
  readonly sections: number;
}

/** What a worker sends. */
export type Message =
  | { readonly type: "ready" }
  | { readonly type: "waiting" }
  | { readonly type: "section"; readonly value: number; readonly waited: number; readonly fence: string }
  | { readonly type: "held"; readonly fence: string }
  | { readonly type: "wrote"; readonly knew: boolean; readonly accepted: boolean }
  | { readonly type: "released"; readonly lost: boolean }
  | { readonly type: "failed"; readonly reason: string };

/** Opens the store of a URL. */
export type Open = (where: string, observer: Observer) => Promise<OpenStore>;

/** Runs the worker, and ends the process. */
export async function runWorker(open: Open): Promise<never> {
  try {
    await work(open, JSON.parse(Deno.args[0] ?? "{}"), lines(Deno.stdin.readable));
  } catch (error) {
    say({ type: "failed", reason: error instanceof Error ? error.message : String(error) });
  }
  // Standard input may still be open.
  Deno.exit();
}

async function work(open: Open, order: Order, commands: AsyncGenerator<string, void>): Promise<void> {
  await using opened = await open(order.store, (event) => {
    if (event.type === "waiting" && order.task === "hold") say({ type: "waiting" });
  });
  say({ type: "ready" });
  if ((await commands.next()).done) return;
  if (order.task === "hold") await hold(order, opened.store, commands);
  else await count(order, opened.store);
}

/** Raises the counter, each time in a critical section. */
async function count(order: Order, store: Store): Promise<void> {
  using counter = new Counter(`${order.directory}/counter`);
  for (let section = 0; section < order.sections; section++) {
    if (order.task === "count") {
      say({ type: "section", value: await counter.raise(), waited: 0, fence: "0" });
      continue;
    }
    const asked = performance.now();
    await using lock = await acquire(store, order.lock, { lease: order.lease });
    const waited = performance.now() - asked;
    say({ type: "section", value: await counter.raise(), waited, fence: `${lock.fence}` });
  }
}

/** Holds the lock, writes into the record at each command to write, and releases. */
async function hold(order: Order, store: Store, commands: AsyncGenerator<string, void>): Promise<void> {
  await using lock = await acquire(store, order.lock, { lease: order.lease, strict: false });
  say({ type: "held", fence: `${lock.fence}` });
  for await (const command of commands) {
    if (command === "release") break;
    const knew = !lock.held && lock.signal.aborted;
    // A careful program stops here. This one writes all the same, like one that was frozen after it had read the
    // signal.
    say({ type: "wrote", knew, accepted: write(`${order.directory}/record.db`, order.author, lock.fence) });
  }
  const error = await lock.release().catch((error: unknown) => error);
  if (error !== undefined && !isLockLost(error)) throw error;
  say({ type: "released", lost: error !== undefined });
}

function say(message: Message): void {
  console.log(JSON.stringify(message));
}
