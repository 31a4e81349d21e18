import type { AcquireOptions } from "@holdfast/lock";
import { checkKeys, show } from "@holdfast/lock/authors";
import type { AttemptLimits } from "../limited_store.ts";

/** The options for waiting and for holding. */
export interface SemaphoreTimeouts {
  /**
   * How long the lock outlives a holder that died, in milliseconds.
   *
   * @default {10_000}
   */
  lockTimeout?: number | undefined;
  /**
   * How long after a call an attempt may still be sent, in milliseconds, or `Infinity`. The call waits up to 10 s for
   * the answer to the last attempt. 0: no attempt is sent.
   *
   * @default {10_000}
   */
  acquireTimeout?: number | undefined;
  /**
   * The largest number of attempts: 1 for a call that does not wait. Attempts after a wake-up do not count. 0: no
   * attempt is sent.
   *
   * @default {Infinity}
   */
  acquireAttemptsLimit?: number | undefined;
  /**
   * How long a waiter in the queue pauses before its next attempt, in milliseconds, unless a wake-up comes before.
   * Counts only with `acquireAttemptsLimit`: otherwise the queue decides.
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

/** The options of redis-semaphore for a lock that one process acquires and another releases. */
const FOREIGN = ["identifier", "acquiredExternally", "externallyAcquiredIdentifier", "identifierSuffix"];

/** The options, converted. */
export interface SemaphoreSettings {
  /** The options of `acquire`. */
  readonly hold: Pick<AcquireOptions, "lease" | "renew">;
  readonly limits: AttemptLimits;
}

/** Checks the options, and completes them. */
export function settingsOf(options: SemaphoreTimeouts): SemaphoreSettings {
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
  return {
    hold: { lease: lockTimeout, renew: refreshInterval === 0 ? false : refreshInterval },
    limits: { attempts: acquireAttemptsLimit, pause: retryInterval, time: acquireTimeout },
  };
}
