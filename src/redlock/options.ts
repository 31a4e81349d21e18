import type { Observer } from "../../events.ts";
import { checkKeys, checkMilliseconds, checkObserver, show } from "../../internal/validation.ts";

/** The options of `redlock()`. */
export interface RedlockOptions {
  /**
   * How long a node may take to answer before it counts as failed, in milliseconds, 1 to 2³¹ − 1. By default 1 % of the
   * lease, at least 50. The time runs only while answers can be read, so not while the event loop is busy. A node whose
   * client is still connecting is given up to 10 s where there is no majority without it.
   */
  nodeTimeout?: number | undefined;
  /**
   * How far ahead of its own clock a node lets its fence counter be set, in milliseconds, 0 to 2³¹ − 1. A client whose
   * clock is further ahead needs a second round trip for its fences.
   *
   * @default {10_000}
   */
  maxClockSkew?: number | undefined;
  /**
   * The part of a lease by which the clocks of the nodes and of the holder may drift apart while it lasts, from 0 to
   * less than 1.
   *
   * @default {0.01}
   */
  driftFactor?: number | undefined;
  /** Receives the events of the locks of this store. */
  observer?: Observer | undefined;
}

/** The options of `redlock()`, checked and with their defaults. */
export interface RedlockSettings {
  /** `undefined`: it depends on the lease, see {@linkcode nodeTimeoutOf}. */
  readonly nodeTimeout: number | undefined;
  readonly maxClockSkew: number;
  readonly driftFactor: number;
  readonly observer: Observer | undefined;
}

/** Checks the options of `redlock()` and fills in the defaults. */
export function checkOptions(options: RedlockOptions): RedlockSettings {
  const { nodeTimeout, maxClockSkew = 10_000, driftFactor = 0.01, observer } = checkKeys(options, [
    "nodeTimeout",
    "maxClockSkew",
    "driftFactor",
    "observer",
  ]);
  if (nodeTimeout !== undefined) checkMilliseconds("nodeTimeout", nodeTimeout, 1);
  checkMilliseconds("maxClockSkew", maxClockSkew, 0);
  if (typeof driftFactor !== "number") throw new TypeError(`driftFactor must be a number: got ${show(driftFactor)}`);
  // Written so that NaN fails too.
  if (!(driftFactor >= 0 && driftFactor < 1)) {
    throw new RangeError(`driftFactor must be from 0 to less than 1: got ${driftFactor}`);
  }
  checkObserver(observer);
  return { nodeTimeout, maxClockSkew, driftFactor, observer };
}

/** Returns how long a node may take to answer by default, in milliseconds: 1 % of the lease, at least 50 ms. */
export function nodeTimeoutOf(lease: number): number {
  return Math.max(50, lease / 100);
}
