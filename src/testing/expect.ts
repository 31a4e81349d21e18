import { elapsed, SystemClock } from "../_clock.ts";
import { acquire } from "../acquire.ts";
import type { Lock } from "../lock.ts";
import type { AcquireOptions } from "../options.ts";
import type { Attempt, Claim, Store } from "../store.ts";

/** The clock by which the behaviours are judged. */
export const clock = new SystemClock();

/** Long enough not to end during a step of a test on a busy machine, in milliseconds. */
export const LONG = 60_000;

/** Short enough to wait for, in milliseconds. */
export const SHORT = 200;

/** How much later than its lease a lock may become free, in milliseconds; wide, for machines under load. */
export const GRACE = 5_000;

export function claimOf(name: string, lease: number): Claim {
  return { name, owner: crypto.randomUUID(), mode: "exclusive", lease };
}

/** Acquires a lock; `queued` resolves when that stands in the queue. */
export function waiting(
  store: Store,
  name: string,
  options: AcquireOptions,
): { readonly lock: Promise<Lock>; readonly queued: Promise<void> } {
  let stands = () => {};
  const queued = new Promise<void>((resolve) => stands = resolve);
  return { lock: acquire(watched(store, stands), name, options), queued };
}

/** A store that tells when its owner stands in the queue. */
function watched(store: Store, queued: () => void): Store {
  return {
    attempt: async (claim, options) => {
      const attempt = await store.attempt(claim, options);
      if (!attempt.granted) queued();
      return attempt;
    },
    renew: (claim) => store.renew(claim),
    release: (claim) => store.release(claim),
    ...(store.wakeup === undefined ? {} : { wakeup: store.wakeup.bind(store) }),
    drift: (lease) => store.drift(lease),
    capabilities: store.capabilities,
  };
}

/** Waits until the lock can be had, and leaves it free. */
export async function freed(store: Store, name: string): Promise<void> {
  await (await acquire(store, name, { wait: SHORT + GRACE })).release();
}

export function granted(attempt: Attempt): bigint {
  check(attempt.granted, "the attempt is granted");
  return attempt.fence;
}

export function check(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(`expected: ${what}`);
}

export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const started = clock.now();
  while (!await condition()) {
    check(elapsed(started, clock.now()) < GRACE, what);
    await clock.sleep(10);
  }
}
