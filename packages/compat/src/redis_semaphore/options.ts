import type { AcquireOptions } from "../../options.ts";
import { MAX_DELAY_MS } from "../../internal/time/clock.ts";
import { checkKeys, show } from "../../internal/validation.ts";

/** How long a lock is waited for, and how it is held. */
export interface SemaphoreTimeouts {
  /**
   * How long the lock outlives a holder that died, in milliseconds.
   *
   * @default {10_000}
   */
  lockTimeout?: number | undefined;
  /**
   * How long a call waits for the lock, in milliseconds, or `Infinity`.
   *
   * @default {10_000}
   */
  acquireTimeout?: number | undefined;
  /**
   * How many attempts redis-semaphore would make: 1 for a call that does not wait. More shorten the wait to the time
   * that they would take.
   *
   * @default {Infinity}
   */
  acquireAttemptsLimit?: number | undefined;
  /**
   * How long redis-semaphore would wait between two attempts, in milliseconds. Waiters are in a queue, so that it counts
   * only with `acquireAttemptsLimit`.
   *
   * @default {10}
   */
  retryInterval?: number | undefined;
  /** How often the lock is renewed, in milliseconds; by default after every third of `lockTimeout`. 0: never. */
  refreshInterval?: number | undefined;
}

/** The defaults of redis-semaphore. */
export const defaultTimeoutOptions: Readonly<
  Required<Omit<{ [K in keyof SemaphoreTimeouts]: number }, "refreshInterval">>
> = { lockTimeout: 10_000, acquireTimeout: 10_000, acquireAttemptsLimit: Infinity, retryInterval: 10 };

const TIMEOUTS = [...Object.keys(defaultTimeoutOptions), "refreshInterval"];

/** What redis-semaphore has for a lock that one process acquires and another releases. */
const FOREIGN = ["identifier", "acquiredExternally", "externallyAcquiredIdentifier", "identifierSuffix"];

/** Checks the options, and returns those of `acquire`. */
export function acquireOptionsOf(options: SemaphoreTimeouts): AcquireOptions {
  for (const key of FOREIGN.filter((each) => Reflect.get(options, each) !== undefined)) {
    throw new TypeError(`${key} is not supported: each lock has an identifier of its own, and ends in its process`);
  }
  checkKeys(options, [...TIMEOUTS, ...FOREIGN, "onLockLost"]);
  const given = Object.entries(options).filter(([key, value]) => TIMEOUTS.includes(key) && value !== undefined);
  for (const [key, value] of given) {
    if (typeof value !== "number" || !(value >= 0)) {
      throw new TypeError(`${key} must be a number from 0: got ${show(value)}`);
    }
  }
  const { lockTimeout, acquireTimeout, acquireAttemptsLimit, retryInterval } = {
    ...defaultTimeoutOptions,
    ...Object.fromEntries(given) as typeof defaultTimeoutOptions,
  };
  const { refreshInterval = true } = options;
  // Infinity times 0 is no number.
  const limit = acquireAttemptsLimit === Infinity ? Infinity : Math.max(0, acquireAttemptsLimit - 1) * retryInterval;
  const wait = Math.min(acquireTimeout, limit);
  return {
    lease: lockTimeout,
    renew: refreshInterval === 0 ? false : refreshInterval,
    wait: wait > MAX_DELAY_MS ? Infinity : wait,
  };
}
