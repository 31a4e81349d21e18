import { checkKeys, checkMilliseconds, show } from "@holdfast/lock/authors";
import type { AttemptLimits } from "../limited_store.ts";

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
   * How many further attempts are made while the lock is busy or servers fail; -1 for any number. The call waits up to
   * 10 s for the answer to each. Attempts after a wake-up do not count.
   *
   * @default {10}
   */
  readonly retryCount: number;
  /**
   * How long a waiter in the queue pauses before its next attempt, in milliseconds, unless a wake-up comes before. With
   * `retryCount: -1` the queue alone decides.
   *
   * @default {200}
   */
  readonly retryDelay: number;
  /**
   * Ignored: waiters are served in order, so that their attempts do not collide.
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
  /**
   * How long each of several servers may take to answer, in milliseconds, as `nodeTimeout` of `redlock()` in
   * `@holdfast/lock/redlock`. Only for the constructor. Not in redlock.
   */
  readonly nodeTimeout?: number | undefined;
  /** Ends the wait of this call. Not in redlock. */
  readonly signal?: AbortSignal | undefined;
}

/** The default settings of redlock 4 and 5. */
const DEFAULTS: RedlockCompatSettings = {
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
  automaticExtensionThreshold: 500,
};

/** Checks settings, and fills in missing values from `others`. */
export function checkSettings(
  given: Partial<RedlockCompatSettings> = {},
  others: RedlockCompatSettings = DEFAULTS,
): RedlockCompatSettings {
  checkKeys(given, [...Object.keys(DEFAULTS), "nodeTimeout", "signal"]);
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [key, value] of set) {
    if (key === "signal" || typeof value === "number" && !Number.isNaN(value)) continue;
    throw new TypeError(`${key} must be a number: got ${show(value)}`);
  }
  const settings: RedlockCompatSettings = { ...others, ...Object.fromEntries(set) };
  const { nodeTimeout } = settings;
  if (nodeTimeout !== undefined) checkMilliseconds("nodeTimeout", nodeTimeout, 1);
  if (others !== DEFAULTS && nodeTimeout !== others.nodeTimeout) {
    throw new TypeError(`nodeTimeout must be given to the constructor of Redlock: got ${show(nodeTimeout)} in a call`);
  }
  return settings;
}

/** Returns the limits of a call, whose faults count like refusals. */
export function limitsOf(
  { retryCount, retryDelay }: RedlockCompatSettings,
  onFault: (fault: unknown) => void,
): AttemptLimits {
  const attempts = retryCount === -1 ? Infinity : Math.max(1, retryCount + 1);
  return { attempts, pause: Math.max(0, retryDelay), time: Infinity, onFault };
}
