import type { Observer } from "../contract/events.ts";
import { checkKeys, checkMilliseconds, checkObserver, show } from "../internal/validation.ts";

/** The options of `redlock()`. */
export interface RedlockOptions {
  /**
   * How long a node may take to answer before it counts as failed, in milliseconds, 1 to 2³¹ − 1. By default a
   * third of the lease, from 50 to 1,000, or 1 % of the lease if that is more. The time runs only while answers can be
   * read, so not while the event loop is busy. A node whose client is still connecting is given up to 10 s where the
   * other nodes are no majority.
   */
  nodeTimeout?: number | undefined;
  /**
   * How far ahead of its own clock a node lets its fence counter be set, in milliseconds, 0 to 2³¹ − 1. A client
   * whose clock is further ahead needs a second round trip for its fences.
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
  /** The time-out; `undefined` when it depends on the lease, see {@linkcode nodeTimeoutOf}. */
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

/** Enough for a round trip of 300 ms between regions, and a second one when the server does not know a script yet. */
const REGIONS_MS = 1_000;

/**
 * Returns how long a node may take to answer by default, in milliseconds. At most a third of a short lease: an attempt
 * waits for at most two nodes that hang, one after the other, and must leave a part of the lease; and a node is given
 * up before the next renewal is due.
 */
export function nodeTimeoutOf(lease: number): number {
  return Math.max(50, lease / 100, Math.min(REGIONS_MS, lease / 3));
}
