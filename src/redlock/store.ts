import { aborted } from "../time/aborted.ts";
import { backoffMs, type Clock, elapsed, type Instant, SystemClock } from "../time/clock.ts";
import { checkReceiver } from "../internal/receiver.ts";
import { HandoffStore } from "../handoff/handoff_store.ts";
import { ShortLivedMap } from "../time/short_lived.ts";
import { show } from "../internal/validation.ts";
import type { Observer } from "../contract/events.ts";
import type {
  Attempt,
  AttemptOptions,
  Capability,
  Claim,
  EvictOptions,
  Granted,
  QueryOptions,
  Renewal,
  Snapshot,
  Store,
} from "../contract/store.ts";
import type { RedisClient } from "../stores/redis/clients/client.ts";
import { redis } from "../stores/redis/mod.ts";
import type { QuorumNode } from "../contract/quorum_node.ts";
import { checkOptions, type RedlockOptions, type RedlockSettings } from "./options.ts";
import { Contention } from "./attempt/contention.ts";
import { evict } from "./quorum_evict.ts";
import { type FenceBlock, HighestFence } from "./attempt/fences.ts";
import { Nodes } from "./nodes/nodes.ts";
import { QuorumAttempt, type QuorumOutcome } from "./attempt/quorum_attempt.ts";
import { query } from "./listing/quorum_query.ts";
import { Round } from "./attempt/round.ts";
import { Rounds } from "./attempt/rounds.ts";

/** The largest number of nodes: more nodes would only be slower. */
const MAX_NODES = 9;

/** The longest time between two attempts of a waiter, in milliseconds: its coordinator may have died. */
const POLL_MS = 1_000;

/** The longest pause after a round that no handle has won, in milliseconds; it doubles with each further round. */
const SPLIT_PAUSE_MS = 25;

/**
 * A store on a majority of independent nodes: Redlock, after the Redis documentation's page on distributed locks, with
 * fences that rise. `acquire([client, …], …)` makes such a store with default options.
 *
 * With n nodes a lock survives the loss of any ⌊(n − 1) / 2⌋ of them, so an even number is no better than one
 * node fewer, and slower: 3 or 5 are usual. One node is a lock on a single server.
 *
 * Give the nodes to all clients in the same order: the order and the name decide which node keeps the queue of a name,
 * its coordinator. With different orders locks are as safe, but waiters are served in no order, and less often.
 *
 * What is guaranteed, for a fixed set of nodes: the fences of a lock are unique, and if one acquire returned before
 * another was called, its fence is smaller. Delays, pauses, clock jumps and early expiries do not change that, as long
 * as the counters on the nodes never roll back. Mutual exclusion itself depends on time, as with every lease
 * (Kleppmann, "How to do distributed locking", 2016, and antirez's answer, "Is Redlock safe?"). Clocks must not drift
 * apart by more than `driftFactor`. A node that crashes must keep its data (`appendfsync always`) or stay down for
 * longer than the longest lease: a node that comes back empty votes as if it had granted nothing.
 *
 * `release()` resolves when a majority is free. It waits at most 16 ms longer for the coordinator. A slower coordinator
 * may refuse other owners until it has executed the release.
 *
 * A node may lose a lock: it comes back empty, or the key is deleted or expires. The next renewal restores the lock
 * there, so that a lock survives the loss of all nodes one after the other. It is not restored while another owner has
 * the node's vote, after a majority has lost it at the same time, or, if it is shared, once others have joined.
 *
 * On each node the lock's key has the `owner` of the lock, a colon and the id of the round of votes that has won it.
 *
 * `query()` asks all nodes, and lists the holders that a majority has and the waiters of every node. `evict()` takes
 * the lock from what each node has. Its holder is not notified: it finds out with its next renewal or its release. The
 * fence of the next holder is larger. Both need a majority of the nodes.
 *
 * Locks may be shared: any two majorities have a node in common, which does not grant an exclusive claim beside a
 * shared one. Only the coordinator knows whether anybody waits, so a shared lock is granted only after the coordinator
 * has answered or failed. Options that majorities cannot provide are refused: `permits`, because two permits on each of
 * five nodes are enough for three holders with three nodes each; `owner`, because each round of votes needs an id of
 * its own, so that late commands of other rounds do not count for it; `steal`, because no command takes a lock on a
 * majority of nodes at one moment.
 *
 * Do not use it if a single server with a replica and fences is enough: the quorum costs as many commands as there are
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
 * @param nodes 1 to 9 Redis clients, of any libraries, or stores of `redis()`; each of a server of its own
 * @param options time-outs, clocks, and an observer
 * @throws {TypeError} when a node is neither a client nor such a store, or is given twice, or an option has a wrong
 * type
 * @throws {RangeError} when there are no nodes or more than 9, or a number is out of range
 */
export function redlock(nodes: readonly (Store | RedisClient)[], options: RedlockOptions = {}): Store {
  if (!Array.isArray(nodes)) throw new TypeError(`nodes must be an array: got ${show(nodes)}`);
  if (nodes.length < 1 || nodes.length > MAX_NODES) {
    throw new RangeError(`nodes must be from 1 to ${MAX_NODES}: got ${nodes.length}`);
  }
  if (new Set(nodes).size < nodes.length) throw new TypeError("nodes must not contain one client or store twice");
  const settings = checkOptions(options);
  const stores = nodes.map(nodeOf);
  return new RedlockStore(stores, settings, new SystemClock(), Math.random);
}

function grantOf({ start, end }: FenceBlock): Granted {
  if (end === start) return { granted: true, fence: start };
  return { granted: true, fence: start, fences: Number(end - start) + 1 };
}

/** Returns the node of a client or store, without its handoff wrapper: the nodes of a quorum hand nothing on. */
function nodeOf(given: Store | RedisClient): QuorumNode {
  if (isNode(given)) return given;
  const node = given instanceof HandoffStore && !given.keeps
    ? given.target
    : (redis(given as RedisClient) as HandoffStore).target;
  if (isNode(node)) return node;
  throw new TypeError("nodes must be Redis clients or stores of redis()");
}

function isNode(node: Store | RedisClient): node is QuorumNode {
  return typeof node === "object" && node !== null && "vote" in node && "confirm" in node && "retake" in node;
}

/**
 * The store of `redlock()`. A lock is held on a majority of independent nodes; one of them, the coordinator of the
 * name, keeps the queue. A {@linkcode QuorumAttempt} asks all nodes, each under its time-out, and decides as soon as
 * the outcome is certain. A {@linkcode Round} is what a handle has on the nodes; it releases the rest in the
 * background.
 */
export class RedlockStore implements Store {
  readonly capabilities: readonly Capability[];
  readonly evict?: (name: string, options?: EvictOptions) => Promise<number>;
  readonly query?: (options?: QueryOptions) => Promise<Snapshot>;
  readonly observer: Observer | undefined;
  readonly #nodes: Nodes;
  readonly #settings: RedlockSettings;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #contention: Contention;
  readonly #rounds: Rounds;
  readonly #highest = new HighestFence();
  readonly #drift = (lease: number): number => lease * this.#settings.driftFactor + 2;
  readonly #inFlight = new ShortLivedMap<string, { readonly answer: Promise<Attempt>; readonly sentAt: Instant }>();

  constructor(nodes: readonly QuorumNode[], settings: RedlockSettings, clock: Clock, random: () => number) {
    this.observer = settings.observer;
    this.#nodes = new Nodes(nodes, settings.nodeTimeout, clock);
    this.#settings = settings;
    this.#clock = clock;
    this.#random = random;
    this.#contention = new Contention(clock);
    this.#rounds = new Rounds(clock, this.#contention);
    const capabilities: Capability[] = ["shared", "fences"];
    if (nodes.every((node) => node.evict !== undefined)) {
      capabilities.push("evict");
      this.evict = (name, options) => evict(this.#nodes, name, options);
    }
    if (nodes.every((node) => node.query !== undefined)) {
      capabilities.push("query");
      this.query = (options) => query(this.#nodes, options, settings.maxClockSkew);
    }
    this.capabilities = capabilities;
  }

  get drift(): (lease: number) => number {
    checkReceiver(#settings in this);
    return this.#drift;
  }

  get closed(): boolean {
    const { list, needed } = this.#nodes;
    return list.filter((node) => node.closed).length > list.length - needed;
  }

  /** Makes an attempt. A handle has one in flight: two would share its round, and one could release it for both. */
  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const { owner } = claim;
    const sentAt = this.#clock.now();
    const inFlight = this.#inFlight.get(owner);
    if (inFlight !== undefined) {
      // The lease counts from the first of them.
      const age = Math.max(0, elapsed(inFlight.sentAt, sentAt));
      return inFlight.answer.then((attempt) => attempt.granted ? { ...attempt, age } : attempt);
    }
    const answer = this.#attempt(claim, options).finally(() => this.#inFlight.delete(owner));
    this.#inFlight.set(owner, { answer, sentAt });
    return answer;
  }

  async #attempt(claim: Claim, { enqueue }: AttemptOptions): Promise<Attempt> {
    for (const { claim, round } of this.#rounds.sweep()) round.expire(claim, this.#nodes.coordinator(claim.name));
    const before = this.#rounds.of(claim);
    // A handle that asks again was refused, or its votes were split.
    const contended = before !== undefined || this.#contention.isLikely(claim.name);
    const round = before ?? new Round(this.#nodes, claim.owner);
    this.#rounds.keep(claim, round, this.#clock.now());
    const options = { enqueue, maxClockSkew: this.#settings.maxClockSkew };
    const attempt = new QuorumAttempt(this.#nodes, round, claim, options, this.#highest, this.#clock, this.#random);
    round.beginAttempt();
    let outcome: QuorumOutcome;
    try {
      outcome = await attempt.run(contended);
    } finally {
      round.endAttempt();
    }
    return this.#conclude(claim, round, attempt.coordinator, enqueue, outcome);
  }

  /** Keeps the lock that an attempt has won; otherwise releases what the attempt has left on the nodes. */
  #conclude(claim: Claim, round: Round, coordinator: number, enqueue: boolean, result: QuorumOutcome): Attempt {
    switch (result.outcome) {
      case "won":
        round.win(result.block.end);
        this.#rounds.keep(claim, round);
        return grantOf(result.block);
      case "failed":
        this.#rounds.forget(claim);
        round.release(claim, coordinator);
        throw this.#nodes.error(claim, "acquire", result.answers);
      case "lost": {
        const { refusal } = result;
        this.#contention.noteBusy(claim.name);
        // All is released but its place in the queue of the coordinator.
        if (enqueue) this.#rounds.keep(claim, round.next(claim, refusal && coordinator));
        else this.#rounds.forget(claim);
        round.release(claim, coordinator);
        if (refusal !== undefined) return { granted: false, retryAfter: Math.min(refusal.retryAfter, POLL_MS) };
        const pauseMs = this.#random() * backoffMs(round.splits, SPLIT_PAUSE_MS, POLL_MS);
        return { granted: false, retryAfter: 1 + pauseMs };
      }
    }
  }

  async renew(claim: Claim): Promise<Renewal> {
    const round = this.#rounds.of(claim);
    if (round?.fence === undefined || round.released) return "lost";
    const renewals = round.renew(claim);
    if (!await this.#nodes.majority(claim, "renew", renewals)) return "lost";
    // It was forgotten before the answers came, because its lease was over.
    if (round.expired) return "lost";
    if (!round.released) this.#rounds.keep(claim, round);
    // The lock is restored on a node that was restarted, or whose key was deleted, if nobody can have held it since.
    for (const [i, renewal] of renewals.entries()) {
      renewal.then((renewed) => renewed ? undefined : round.restore(claim, i), () => {});
    }
    return "renewed";
  }

  async release(claim: Claim): Promise<boolean> {
    const round = this.#rounds.of(claim);
    if (round === undefined) return false;
    const coordinator = this.#nodes.coordinator(claim.name);
    const releases = round.release(claim, coordinator);
    let released = false;
    // If it fails the round is kept: a release that is retried waits for the same ones.
    if (round.fence !== undefined) {
      released = await this.#nodes.released(claim, coordinator, releases);
    } else if (round.queuedAt !== undefined) {
      released = await this.#nodes.single(claim, round.queuedAt, releases[round.queuedAt]!.answer());
    }
    this.#rounds.forget(claim);
    return released;
  }

  async succeed(from: Claim, to: Claim): Promise<void> {
    const before = this.#rounds.of(from);
    if (before === undefined || this.#rounds.of(to) !== undefined) return;
    const round = new Round(this.#nodes, to.owner);
    this.#rounds.keep(to, round);
    await before.giveTo(round, from, to);
  }

  async wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const round = this.#rounds.of(claim);
    const i = round?.queuedAt;
    const woken = i === undefined ? undefined : this.#nodes.list[i]!.wakeup?.(round!.claim(claim, i), signal);
    if (woken !== undefined) return await woken;
    await aborted(signal);
  }
}
