import { MAX_DELAY_MS } from "../../internal/time/clock.ts";
import { checkKeys, show } from "../../internal/validation.ts";

/** How a `Redlock` acquires locks, and how it trusts them. */
export interface RedlockCompatSettings {
  /**
   * The part of a lease by which clocks may drift apart, from 0 to less than 1. With one client it can only make
   * `expiration` earlier.
   *
   * @default {0.01}
   */
  readonly driftFactor: number;
  /**
   * How many further attempts redlock would make; -1 for any number. A wait in the queue lasts as long as those would:
   * so many times `retryDelay`.
   *
   * @default {10}
   */
  readonly retryCount: number;
  /**
   * How long redlock would wait between two attempts, in milliseconds.
   *
   * @default {200}
   */
  readonly retryDelay: number;
  /**
   * Ignored: waiters are served in order, so that no two of them meet.
   *
   * @default {100}
   */
  readonly retryJitter: number;
  /**
   * Ignored: `using` renews the lock after every third of its duration.
   *
   * @default {500}
   */
  readonly automaticExtensionThreshold: number;
  /** Ends the wait of this call. Not in redlock. */
  readonly signal?: AbortSignal | undefined;
}

/** The settings that redlock 4 and 5 have. */
const DEFAULTS: RedlockCompatSettings = {
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
  automaticExtensionThreshold: 500,
};

/** Checks settings, and completes them with others. */
export function checkSettings(
  given: Partial<RedlockCompatSettings> = {},
  others: RedlockCompatSettings = DEFAULTS,
): RedlockCompatSettings {
  checkKeys(given, [...Object.keys(DEFAULTS), "signal"]);
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [key, value] of set) {
    if (key === "signal" || typeof value === "number" && !Number.isNaN(value)) continue;
    throw new TypeError(`${key} must be a number: got ${show(value)}`);
  }
  return { ...others, ...Object.fromEntries(set) };
}

/** Returns how long a call waits for a busy lock, in milliseconds. */
export function waitOf({ retryCount, retryDelay }: RedlockCompatSettings): number {
  const wait = retryCount === -1 ? Infinity : Math.max(0, retryCount * Math.max(1, retryDelay));
  return wait > MAX_DELAY_MS ? Infinity : wait;
}
