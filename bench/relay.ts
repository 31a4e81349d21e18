import { acquire, type Lock, type Observer, type Store } from "@holdfast/lock";
import { pause } from "./pause.ts";

/** How a lock goes from hand to hand. */
export interface RelayOptions {
  /** Makes a client with its own store. */
  readonly open: (observer: Observer) => Store;
  /** How many wait at any time. */
  readonly waiters: number;
  readonly seconds: number;
  /** Runs between two handoffs. */
  readonly between?: () => Promise<void>;
  readonly progress: (text: string) => void;
}

/** A holder, and since when it is running. */
interface Running {
  readonly lock: Lock;
  readonly at: number;
}

/** How long each holder keeps the lock, in milliseconds: meanwhile client, server and processor fall asleep. */
export const IDLE = 10;

/** With fewer handoffs a median says little, however slow the machine is. */
const MIN_HANDOFFS = 20;

/** So many handoffs come before those that count: connections for wake-ups, scripts, the compiler of the runtime. */
const WARM_UP = 10;

/**
 * Hands a lock from holder to holder, and returns the milliseconds from each call of `release` until the next holder
 * runs. Neighbours in the queue are on different clients. Whoever has released queues again while the next one holds,
 * so that the queue stays as long as it is.
 */
export async function relay({ open, waiters, seconds, between, progress }: RelayOptions): Promise<number[]> {
  let queued = Promise.withResolvers<void>();
  let running = Promise.withResolvers<Running>();
  const observer: Observer = ({ type }) => {
    if (type === "waiting") queued.resolve();
  };
  const stores = [open(observer), open(observer)];
  let joined = 0;
  const ask = () => {
    acquire(stores[joined++ % stores.length]!, "relay").then(
      (lock) => running.resolve({ lock, at: performance.now() }),
      (error) => running.reject(error),
    );
  };
  const join = () => {
    queued = Promise.withResolvers();
    ask();
    return queued.promise;
  };

  ask();
  let { lock } = await running.promise;
  running = Promise.withResolvers();
  for (let waiter = 0; waiter < waiters; waiter++) await join();

  const times: number[] = [];
  const end = performance.now() + seconds * 1_000;
  for (let handoff = 0; performance.now() < end || times.length < MIN_HANDOFFS; handoff++) {
    await pause(IDLE);
    const released = performance.now();
    const releasing = lock.release();
    const next = await running.promise;
    if (handoff >= WARM_UP) times.push(next.at - released);
    await releasing;
    lock = next.lock;
    running = Promise.withResolvers();
    await join();
    await between?.();
    progress(`${times.length} handoffs`);
  }

  // Everybody has a turn, so that nobody is left in the queue.
  for (let waiter = 0; waiter < waiters; waiter++) {
    const releasing = lock.release();
    ({ lock } = await running.promise);
    running = Promise.withResolvers();
    await releasing;
  }
  await lock.release();
  return times;
}
