import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, LockTimeoutError, StoreError, tryAcquire } from "@holdfast/lock";
import type { Redis } from "ioredis";
import { closed, RedisServer } from "../support/redis_server.ts";
import { HANG_MS, until } from "../support/until.ts";

const CYCLES = 1_000;

/** How many locks and waiters there are at a time: with four to a name, most of them wait. */
const [NAMES, AT_ONCE] = [10, 40];

Deno.test("acquire() and Lock leave nothing behind after 1,000 cycles of all kinds", async () => {
  await using server = await RedisServer.start();
  const [client, admin] = [server.connect(), server.connect()];
  const shared = new ObservedSignal();
  // The first contended waits make one connection for wake-ups, which stays.
  await Promise.all(Array.from({ length: 5 }, () => acquire(client, "first").then((lock) => lock.release())));
  const before = listeners(client);

  const ended = { released: 0, "timed out": 0, aborted: 0, busy: 0 };
  let cycle = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (cycle < CYCLES) {
      const i = cycle++;
      ended[await run(client, `${i % NAMES}`, i, shared.signal)]++;
    }
  }));
  assertEquals(Object.values(ended).reduce((sum, count) => sum + count), CYCLES);
  for (const [end, count] of Object.entries(ended)) assert(count >= CYCLES / 50, `${end}: ${count}`);

  await until(async () => (await server.leftovers()).length === 0, "no key and no entry in a queue is left");
  assertEquals(listeners(client), before);
  assert(shared.listened > 0);
  assertEquals(shared.listeners.size, 0);
  await until(async () => await connections(admin) === 2, "there is one connection beside the client's own");
  await closed(client);
  await until(async () => await connections(admin) === 0, "no connection is left");
});

Deno.test("acquire() leaves no connection when its client is closed while wake-ups are cut", async () => {
  await using server = await RedisServer.start();
  const [client, admin] = [server.connect(), server.connect()];
  const duplicate = client.duplicate.bind(client);
  const subscribers: Redis[] = [];
  client.duplicate = (override) => {
    const subscriber = duplicate(override);
    subscribers.push(subscriber);
    return subscriber;
  };
  await admin.set("lock:a", "other", "PX", 10 * HANG_MS);
  const waiting = acquire(client, "a", { wait: 5 * HANG_MS });
  await until(async () => await admin.zcard("{lock:a}:queue") === 1, "the waiter is queued");
  const pubsub = async () => String(await admin.call("CLIENT", "LIST", "TYPE", "pubsub")).trim() !== "";
  await until(pubsub, "it can be woken");
  const cut = new Promise((resolve) => subscribers[0]!.once("end", resolve));
  await admin.call("CLIENT", "KILL", "TYPE", "pubsub");
  await cut;
  client.disconnect();
  // Not as one whose time is over.
  await assertRejects(() => waiting, StoreError);
  const ended = () => Promise.resolve(subscribers.every(({ status }) => status === "end"));
  await until(ended, "the connections for wake-ups have ended");
  await until(async () => await connections(admin) === 0, "no connection is left");
});

type End = "released" | "timed out" | "aborted" | "busy";

/** Runs one cycle, of one of five kinds. */
async function run(client: Redis, name: string, i: number, shared: AbortSignal): Promise<End> {
  const controller = new AbortController();
  const kinds = [
    () => acquire(client, name),
    () => acquire(client, name, { signal: shared }),
    () => acquire(client, name, { wait: 1 + i % 7, signal: shared }),
    () => acquire(client, name, { signal: controller.signal }),
    () => tryAcquire(client, name, { signal: shared }),
  ];
  const kind = Math.floor(i / NAMES) % kinds.length;
  const timer = kind === 3 ? setTimeout(() => controller.abort("enough"), i % 7) : undefined;
  try {
    const lock = await kinds[kind]!();
    if (lock === null) return "busy";
    await new Promise((resolve) => setTimeout(resolve, i % 3));
    if (i % 2 === 0) await lock.release();
    else await lock[Symbol.asyncDispose]();
    return "released";
  } catch (error) {
    if (error instanceof LockTimeoutError) return "timed out";
    // So short a wait may be over before anybody could have answered.
    if (error instanceof StoreError && error.message.endsWith("the store did not answer")) return "timed out";
    if (error === "enough") return "aborted";
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** A signal that knows its listeners. */
class ObservedSignal {
  readonly signal = new AbortController().signal;
  readonly listeners = new Set<unknown>();
  /** How often one was added. */
  listened = 0;

  constructor() {
    const { signal, listeners } = this;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners.add(args[1]);
      this.listened++;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners.delete(args[1]);
      remove(...args);
    };
  }
}

/** Returns how many listeners a client has for each of its events. */
function listeners(client: Redis): Record<string, number> {
  return Object.fromEntries(client.eventNames().map((event) => [String(event), client.listenerCount(event)]));
}

/** Returns how many connections the server has beside the one that asks. */
async function connections(admin: Redis): Promise<number> {
  const list = String(await admin.client("LIST"));
  return list.trim().split("\n").length - 1;
}
