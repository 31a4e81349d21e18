/**
 * Locks on a majority of independent Redis servers (Redlock), which survive the loss of any minority of them.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { acquire } from "@holdfast/lock";
 * import { redlock } from "@holdfast/lock/redlock";
 *
 * const store = redlock([new Redis(6379), new Redis(6380), new Redis(6381)]);
 * await using lock = await acquire(store, "invoice:42");
 * ```
 *
 * @module
 */
import { checkKeys, checkMilliseconds, checkObserver, show } from "../../_check.ts";
import { SystemClock } from "../../_clock.ts";
import type { Observer } from "../../observer.ts";
import type { QuorumNode, Store } from "../../store.ts";
import type { RedisClient } from "../redis/client.ts";
import { redis } from "../redis/mod.ts";
import { RedlockStore } from "./store.ts";

/** What `redlock()` takes. */
export interface RedlockOptions {
  /**
   * How long a node may take to answer before it counts as failed, in milliseconds, 1 to 2³¹ − 1. By default 1 % of the
   * lease, at least 50.
   */
  nodeTimeout?: number | undefined;
  /**
   * How far ahead of its own clock a node lets its counter of fences be set, in milliseconds, 0 to 2³¹ − 1. A client
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
  /** Hears what happens to the locks of this store. */
  observer?: Observer | undefined;
}

/** More nodes than this only make it slower. */
const MAX_NODES = 9;

/**
 * A store on a majority of independent nodes: Redlock, after the Redis documentation's page on distributed locks, with
 * fences that rise. `acquire([client, …], …)` makes one with default options by itself.
 *
 * With n nodes a lock survives the loss of any ⌊(n − 1) / 2⌋ of them, so an even number is no better than the odd one
 * below it, and slower: 3 or 5 are usual. One node is a lock on a single server.
 *
 * Give all clients the nodes in one order: the place in the list and the name decide which node keeps the queue of a
 * name. Where the orders differ locks are as safe, but waiters are served in no order, and less often.
 *
 * What is guaranteed, for a fixed set of nodes: the fences of a lock are unique, and if one acquire returned before
 * another was called its fence is the smaller, whatever the delays, pauses, clock jumps or early expiries, as long as
 * the counters on the nodes never roll back. Mutual exclusion itself rests on time, as with every lease (Kleppmann,
 * "How to do distributed locking", 2016, and antirez's answer, "Is Redlock safe?"): clocks must not drift apart by more
 * than `driftFactor`, and a node that crashes must keep its data (`appendfsync always`) or stay down for longer than the
 * longest lease: one that comes back empty votes as if it had granted nothing.
 *
 * Locks may be shared: any two majorities have a node in common, which lets no exclusive holder in beside a shared one.
 * Only the coordinator knows whether anybody waits, so a shared lock is not granted before that has answered or failed.
 * What cannot be had by majorities is refused: `permits`, because two permits on each of five nodes are enough for three
 * holders with three nodes each; `owner`, because each round of votes needs an id that no late command of another round
 * can be taken for; `steal`, because nothing takes a lock from its holder on a majority of nodes at one moment.
 *
 * Not for you if a single server with a replica and fences will do: the quorum costs as many commands as there are
 * nodes, and a resource that checks fences is safe without it.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { acquire } from "@holdfast/lock";
 * import { redlock } from "@holdfast/lock/redlock";
 *
 * const store = redlock([6379, 6380, 6381].map((port) => new Redis(port)), { nodeTimeout: 1_000 });
 * await using lock = await acquire(store, "invoice:42", { wait: 5_000 });
 * ```
 *
 * @param nodes 1 to 9 clients of ioredis's shape, or stores of `redis()`; each of a server of its own
 * @param options time-outs, clocks, and an observer
 * @throws {TypeError} when a node is no client and no such store, or is given twice, or an option is of the wrong kind
 * @throws {RangeError} when there are no nodes or more than 9, or a number is out of range
 */
export function redlock(nodes: readonly (QuorumNode | RedisClient)[], options: RedlockOptions = {}): Store {
  if (!Array.isArray(nodes)) throw new TypeError(`nodes must be an array: got ${show(nodes)}`);
  if (nodes.length < 1 || nodes.length > MAX_NODES) {
    throw new RangeError(`nodes must be from 1 to ${MAX_NODES}: got ${nodes.length}`);
  }
  if (new Set(nodes).size < nodes.length) throw new TypeError("nodes must not contain one client or store twice");
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
  const stores = nodes.map((node) => isNode(node) ? node : redis(node));
  return new RedlockStore(stores, { nodeTimeout, maxClockSkew, driftFactor, observer }, new SystemClock(), Math.random);
}

function isNode(node: QuorumNode | RedisClient): node is QuorumNode {
  return typeof node === "object" && node !== null && "vote" in node && "confirm" in node && "retake" in node;
}
