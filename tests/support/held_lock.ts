import { assert } from "@std/assert";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { type AcquireOptions, checkAcquireOptions } from "../../src/lock/options.ts";
import { granted, ScriptedStore } from "./scripted_store.ts";
import { VirtualClock } from "./virtual_clock.ts";

export const HOUR = 3_600_000;

/** A lock that is held, on a store that has not been asked for anything since. */
export interface HeldLock {
  readonly clock: VirtualClock;
  readonly store: ScriptedStore;
  readonly lock: Lock;
}

/** Acquires a lock on a store of its own. */
export async function holdLock(options: AcquireOptions = {}): Promise<HeldLock> {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  store.onAttempt = () => granted(7n);
  const lock = await acquireFrom(store, "a", checkAcquireOptions(options), clock);
  assert(lock !== null, "granted");
  store.calls.length = 0;
  store.events.length = 0;
  return { clock, store, lock };
}

/** Returns how a promise ends, with time to do so. */
export async function outcome({ clock }: HeldLock, promise: Promise<unknown>, ms = HOUR): Promise<unknown> {
  const settling = promise.then(() => "resolved", (error: unknown) => error);
  await clock.advance(ms);
  return await Promise.race([settling, Promise.resolve("pending")]);
}
