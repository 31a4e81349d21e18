import { StoreError } from "../../errors.ts";
import { type Observer, tell } from "../../observer.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Capability,
  type Claim,
  drift,
  holdOf,
  type QuorumNode,
  type Renewal,
  type Snapshot,
  type Vote,
  type VoteOptions,
} from "../../store.ts";
import { checkKeys, checkObserver, show } from "../../_check.ts";
import { advice } from "./advice.ts";
import type { RedisClient } from "./client.ts";
import { type LockKeys, lockKeys } from "./keys.ts";
import { query } from "./query.ts";
import * as quorum from "./quorum_scripts.ts";
import { checkReplicas, type Replicas, type ReplicasOptions, runAndWait } from "./replicas.ts";
import { Runner } from "./runner.ts";
import * as scripts from "./scripts.ts";
import { Wakeups } from "./wakeups.ts";

/** What `redis()` takes. */
export interface RedisOptions {
  /**
   * What stands before the name in the lock's key.
   *
   * @default {"lock:"}
   */
  prefix?: string | undefined;
  /**
   * Grant and renew a lock only when so many replicas have it (`WAIT`). A grant that they do not get in time is undone,
   * and counts as a fault of the store; a renewal that they do not get leaves the deadline of the lock as it was.
   *
   * It closes one hole: a grant that died with the master before any replica had heard of it, or that was made by a
   * master which is cut off from its replicas while one of them is being promoted. It is no consensus: a failover can
   * still promote a replica that is not among those which had the lock, unless `min` is the number of all replicas, and
   * what a replica has heard it can lose when it restarts. Then two holders believe, and only the fence tells them apart.
   *
   * It costs one more round trip for each grant, and the answer of the replicas. What else is sent over the same client
   * has to wait meanwhile, up to `timeout`: give the store a client of its own. Without enough replicas nothing is
   * granted any more, so let there be one more than `min`.
   */
  replicas?: ReplicasOptions | undefined;
  /** Hears what happens to the locks of this store. */
  observer?: Observer | undefined;
}

/** A store on a Redis or Valkey server. */
export interface RedisStore extends QuorumNode {
  /** Takes the lock from whoever holds it, and serves the queue. Resolves to how many holds there were. */
  evict(name: string): Promise<number>;
  /** Lists who holds the locks under this prefix and who waits for them, in all processes, with SCAN on every master. */
  query(): Promise<Snapshot>;
}

/**
 * A store on a Redis (6.2 or later) or Valkey server. `acquire(client, …)` makes one with default options by itself.
 *
 * The key of a lock is `prefix + name`, a plain string with the owner (and a slash, if that was given; with a word that
 * begins with a colon when several may hold it), which any program that uses `SET NX PX` respects and is respected by.
 * Beside it are the list of its holders, when there are several, its queue, while somebody waits, and its last fence,
 * for 7 days.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { acquire } from "@holdfast/lock";
 * import { redis } from "@holdfast/lock/redis";
 *
 * const store = redis(new Redis(), { prefix: "billing:" });
 * await using lock = await acquire(store, "invoice:42");
 * ```
 *
 * @param client a client of ioredis's shape; it stays yours to close
 * @param options the prefix of the keys, how many replicas must have a lock, and an observer
 * @throws {TypeError} when the client lacks a method that is needed, or an option is of the wrong kind
 * @throws {RangeError} when a number is out of range
 */
export function redis(client: RedisClient, options: RedisOptions = {}): RedisStore {
  for (const method of ["evalsha", "eval", "duplicate", "on"]) {
    if (typeof Reflect.get(Object(client), method) !== "function") {
      throw new TypeError(`client must have the methods of an ioredis client: ${method} is missing`);
    }
  }
  const { prefix = "lock:", replicas, observer } = checkKeys(options, ["prefix", "replicas", "observer"]);
  if (typeof prefix !== "string") throw new TypeError(`prefix must be a string: got ${show(prefix)}`);
  checkObserver(observer);
  return new ServerStore(client, prefix, replicas && checkReplicas(client, replicas), observer);
}

/** The longest time between two attempts of a waiter that cannot be told of its turn: several in a claim time. */
const DEAF_POLL = 500;

class ServerStore implements RedisStore {
  readonly drift = drift;
  readonly capabilities: readonly Capability[] = ["shared", "permits", "owner", "steal"];
  readonly observer: Observer | undefined;
  readonly #client: RedisClient;
  readonly #prefix: string;
  readonly #wakeups: Wakeups;
  readonly #runner: Runner;
  readonly #replicas: Replicas | undefined;
  #advised = false;
  /** The keys that were needed last. */
  #last: { readonly name: string; readonly keys: LockKeys } | undefined;

  constructor(
    client: RedisClient,
    prefix: string,
    replicas: Replicas | undefined,
    observer: Observer | undefined,
  ) {
    this.#client = client;
    this.#prefix = prefix;
    this.#replicas = replicas;
    this.#wakeups = Wakeups.of(client);
    this.#runner = new Runner(client, this.#wakeups);
    this.observer = observer;
  }

  get closed(): boolean {
    return this.#client.status === "end";
  }

  get session(): number {
    return this.#wakeups.cuts;
  }

  get address(): string | undefined {
    const { host, port } = this.#client.options ?? {};
    return host === undefined || port === undefined ? undefined : `${host}:${port}`;
  }

  attempt(claim: Claim, { enqueue, steal = false }: AttemptOptions): Promise<Attempt> {
    if (!this.#advised) this.#advise(claim);
    return this.#wakeable(enqueue, (enqueue) => {
      const argv = this.#asking(claim, enqueue, marker(claim, steal));
      return this.#take(scripts.attempt, claim, argv, scripts.decodeAttempt);
    });
  }

  vote(claim: Claim, { enqueue, guess, maxClockSkew }: VoteOptions): Promise<Vote> {
    if (!this.#advised) this.#advise(claim);
    return this.#wakeable(enqueue, (enqueue) => {
      const argv = this.#asking(claim, enqueue, marker(claim));
      while (argv.length < 5) argv.push("");
      argv.push(`${guess}`, milliseconds(maxClockSkew));
      return this.#take(quorum.vote, claim, argv, quorum.decodeVote);
    }).then((vote) => "conflict" in vote ? { granted: false, retryAfter: scripts.POLL } : vote);
  }

  confirm(claim: Claim, fence: bigint): Promise<boolean> {
    return this.#runner.run(quorum.confirm, this.#keys(claim), [holdOf(claim), `${fence}`], scripts.decodeFlag);
  }

  retake(claim: Claim, fence: bigint): Promise<boolean> {
    const argv = [holdOf(claim), milliseconds(claim.lease), marker(claim), `${fence}`];
    return this.#runner.run(quorum.retake, this.#keys(claim), argv, scripts.decodeFlag);
  }

  async renew(claim: Claim): Promise<Renewal> {
    if (this.#replicas === undefined) {
      const [keys, argv] = this.#renewal(claim);
      return await this.#runner.run(scripts.renew, keys, argv, decodeRenewal);
    }
    // The holder must not trust a deadline that a promoted replica would not keep.
    const outcome = await this.#renewOnReplicas(claim, this.#replicas);
    if (outcome === "short") throw new Error(tooFew(this.#replicas));
    return outcome;
  }

  release(claim: Claim): Promise<boolean> {
    this.#wakeups.leave(holdOf(claim));
    return this.#giveBack(claim);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.#wakeups.wait(holdOf(claim), scripts.CLAIM, signal);
  }

  eviction(claim: Claim, signal: AbortSignal): Promise<void> {
    const held = () => {
      return this.#runner.run(scripts.held, this.#keys(claim).slice(0, 4), [holdOf(claim)], scripts.decodeFlag);
    };
    return this.#wakeups.evicted(holdOf(claim), held, signal);
  }

  evict(name: string): Promise<number> {
    return this.#runner.run(scripts.evict, this.#keys({ name }).slice(0, 4), [`${scripts.CLAIM}`], Number);
  }

  query(): Promise<Snapshot> {
    return query(this.#client, this.#prefix, this.#keyPrefix, (name) => {
      const decode = (reply: unknown) => scripts.decodeLook(name, reply);
      return this.#runner.run(scripts.look, this.#keys({ name }).slice(0, 4), [], decode);
    });
  }

  /** Not when the store is made: the observer may know it by a name that it does not have yet. */
  #advise({ name, owner }: Claim): void {
    this.#advised = true;
    const message = advice(this.#client);
    if (message !== undefined) tell(this.observer, { type: "warning", name, owner, message });
  }

  #wakeable<T extends { granted: boolean }>(enqueue: boolean, ask: (enqueue: boolean) => Promise<T>): Promise<T> {
    return !enqueue || this.#wakeups.subscribed ? ask(enqueue) : this.#firstWait(ask);
  }

  /** Nobody queues before it can be woken: the first contended wait of a client takes one more trip. */
  async #firstWait<T extends { granted: boolean }>(ask: (enqueue: boolean) => Promise<T>): Promise<T> {
    const answer = await ask(false);
    if (answer.granted || "conflict" in answer) return answer;
    await this.#wakeups.subscribe();
    return await ask(true);
  }

  /** The first arguments of the scripts that take the lock. */
  #asking(claim: Claim, enqueue: boolean, marker: string): string[] {
    const argv = [holdOf(claim), milliseconds(claim.lease)];
    if (enqueue) argv.push(this.#wakeups.reach, this.#wakeups.enter(holdOf(claim)));
    else if (marker !== "") argv.push("", "");
    // Most locks are exclusive, and say nothing.
    if (marker !== "") argv.push(marker);
    return argv;
  }

  #take<T extends { granted: true }>(
    script: scripts.Script,
    claim: Claim,
    argv: string[],
    decode: (reply: unknown) => T | scripts.Refusal,
  ): Promise<T | Refused> {
    const replicas = this.#replicas;
    if (replicas === undefined) {
      return this.#runner.run(script, this.#keys(claim), argv, (reply) => this.#note(claim, decode(reply)));
    }
    // The handle keeps its ticket until the replicas have the lock, for the case that the grant is undone.
    return this.#runner.run(script, this.#keys(claim), argv, decode).then(async (answer) => {
      const outcome = answer.granted ? await this.#renewOnReplicas(claim, replicas) : undefined;
      if (outcome === "lost") throw new Error("the lock was lost before its replicas had it");
      if (outcome === "short") {
        await this.#giveBack(claim);
        throw new StoreError(tooFew(replicas));
      }
      return this.#note(claim, answer);
    });
  }

  /** What the answer means for the wake-ups of the handle. */
  #note<T extends { granted: true }>(claim: Claim, answer: T | scripts.Refusal): T | Refused {
    if (answer.granted || "conflict" in answer) {
      this.#wakeups.leave(holdOf(claim));
      return answer;
    }
    this.#wakeups.keep(holdOf(claim), answer.ticket);
    const { granted, retryAfter } = answer;
    return { granted, retryAfter: this.#wakeups.hearing ? retryAfter : Math.min(retryAfter, DEAF_POLL) };
  }

  async #renewOnReplicas(claim: Claim, replicas: Replicas): Promise<Renewal | "short"> {
    const [keys, argv] = this.#renewal(claim);
    const [reply, count] = await runAndWait(this.#client, scripts.renew, keys, argv, replicas);
    const renewal = decodeRenewal(reply);
    return renewal === "renewed" && count < replicas.min ? "short" : renewal;
  }

  #renewal(claim: Claim): [keys: string[], argv: string[]] {
    const keys = marker(claim) === "" ? [this.#prefix + claim.name] : this.#keys(claim).slice(0, 4);
    return [keys, [holdOf(claim), milliseconds(claim.lease)]];
  }

  #giveBack(claim: Claim): Promise<boolean> {
    const { cuts } = this.#wakeups;
    const argv = [holdOf(claim), milliseconds(claim.lease)];
    // Cut off while it was out, the release may have been sent twice: then the first of them gave up the lock.
    const decode = (reply: unknown) => scripts.decodeFlag(reply) || cuts !== this.#wakeups.cuts;
    return this.#runner.run(scripts.release, this.#keys(claim).slice(0, 4), argv, decode);
  }

  #keys({ name }: Pick<Claim, "name">): LockKeys {
    // Who releases a lock has mostly just acquired it.
    if (this.#last?.name !== name) this.#last = { name, keys: lockKeys(this.#prefix + name, this.#keyPrefix) };
    return this.#last.keys;
  }

  get #keyPrefix(): string {
    const keyPrefix = this.#client.options?.keyPrefix;
    return keyPrefix === undefined ? "" : String(keyPrefix);
  }
}

/** How an attempt ends without a grant. */
type Refused = Exclude<Attempt, { granted: true }>;

/** What is asked for, as the scripts take it; empty for the usual: an exclusive lock and a fresh owner. */
function marker({ mode, permits, hold }: Claim, steal = false): string {
  if (permits !== undefined) return `:permits=${permits}`;
  if (mode === "shared") return ":shared";
  if (steal) return ":steal";
  return hold === undefined ? "" : ":exclusive";
}

/** A duration as Redis takes it: whole milliseconds, never less than the holder believes in. */
function milliseconds(duration: number): string {
  return String(Math.ceil(duration));
}

function decodeRenewal(reply: unknown): Renewal {
  return scripts.decodeFlag(reply) ? "renewed" : "lost";
}

function tooFew({ min, timeout }: Replicas): string {
  return `fewer than ${min} replicas had it within ${timeout} ms`;
}
