import { acquire, type Observer, type Store } from "@holdfast/lock";
import { cohort } from "@holdfast/lock/cohort";
import { redis } from "@holdfast/lock/redis";
import type { RedisServer } from "../tests/support/redis_server.ts";
import { countCommands, resetCommands } from "./commands.ts";
import type { Figure, Target } from "./figure.ts";
import { masters } from "./masters.ts";
import { pause } from "./pause.ts";
import { plain } from "./plain.ts";
import type { Bench } from "./row.ts";

const WAITERS = 100;

/** How long it is counted. */
const SECONDS = 20;

/** So long after all are in the queue that starts, in milliseconds: each has attempted again under its channel. */
const SETTLED_MS = 1_000;

/** How the tasks wait. */
interface Side {
  readonly name: string;
  readonly open: (store: Store, stack: AsyncDisposableStack) => Store;
  readonly target?: Target;
}

const SIDES: readonly Side[] = [
  { name: "plain", open: plain },
  { name: "runs", open: (store) => store },
  { name: "cohort", open: (store, stack) => stack.use(cohort(store)), target: { bound: "at most", value: 3 } },
];

/**
 * Many tasks of one process wait for a lock that does not become free: how much they ask meanwhile. All sides wait at
 * the same time, each on a server of its own, as nothing is timed.
 */
export async function waiting({ scale, stack, progress }: Bench): Promise<Figure[]> {
  const seconds = SECONDS * scale;
  progress(`for ${seconds.toFixed(0)} s`);
  const servers = await masters(SIDES.length, stack);
  return await Promise.all(SIDES.map(async ({ name, open, target }, i): Promise<Figure> => {
    const sent = await count(servers[i]!, (store) => open(store, stack), seconds);
    return {
      what: `${WAITERS} tasks wait long, ${name}: commands per task and minute`,
      ours: { value: sent / WAITERS / (seconds / 60), unit: "" },
      ...target && { target },
      details: { sent, seconds },
    };
  }));
}

/** Returns how many commands a server is sent while all wait. */
async function count(server: RedisServer, open: (store: Store) => Store, seconds: number): Promise<number> {
  const holder = await acquire(redis(server.connect()), "waiting");
  const queued = Promise.withResolvers<void>();
  let waiting = 0;
  const observer: Observer = ({ type }) => {
    if (type === "waiting" && ++waiting === WAITERS) queued.resolve();
  };
  const store = open(redis(server.connect(), { observer }));
  const over = new AbortController();
  const waits = Array.from({ length: WAITERS }, () => acquire(store, "waiting", { signal: over.signal }));
  await queued.promise;
  const counter = server.connect();
  await pause(SETTLED_MS);
  await resetCommands(counter);
  await pause(seconds * 1_000);
  const { sent } = await countCommands(counter);
  over.abort("over");
  await Promise.allSettled(waits);
  await holder.release();
  return sent;
}
