import { StoreError } from "../../errors.ts";
import { type Observer, tell } from "../../observer.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Claim,
  drift,
  type QuorumNode,
  type Renewal,
  type Vote,
  type VoteOptions,
} from "../../store.ts";
import { checkKeys, checkObserver, show } from "../../_check.ts";
import { advice } from "./advice.ts";
import type { RedisClient } from "./client.ts";
import { type LockKeys, lockKeys } from "./keys.ts";
import { refusal } from "./refusal.ts";
import { checkReplicas, type Replicas, type ReplicasOptions, runAndWait } from "./replicas.ts";
import * as scripts from "./scripts.ts";
import { Wakeups } from "./wakeups.ts";
import { Writes } from "./writes.ts";

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

/**
 * A store on a Redis (6.2 or later) or Valkey server. `acquire(client, …)` makes one with default options by itself.
 *
 * The key of a lock is `prefix + name`, a plain string with the owner, which any program that uses `SET NX PX` respects
 * and is respected by. Beside it are its queue, while somebody waits, and its last fence, for 7 days.
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
export function redis(client: RedisClient, options: RedisOptions = {}): QuorumNode {
  for (const method of ["evalsha", "eval", "duplicate", "on"]) {
    if (typeof Reflect.get(Object(client), method) !== "function") {
      throw new TypeError(`client must have the methods of an ioredis client: ${method} is missing`);
    }
  }
  const { prefix = "lock:", replicas, observer } = checkKeys(options, ["prefix", "replicas", "observer"]);
  if (typeof prefix !== "string") throw new TypeError(`prefix must be a string: got ${show(prefix)}`);
  checkObserver(observer);
  return new RedisStore(client, prefix, replicas && checkReplicas(client, replicas), observer);
}

/** The longest time between two attempts of a waiter that cannot be told of its turn: several in a claim time. */
const DEAF_POLL = 500;

class RedisStore implements QuorumNode {
  readonly drift = drift;
  readonly observer: Observer | undefined;
  readonly #client: RedisClient;
  readonly #prefix: string;
  readonly #wakeups: Wakeups;
  readonly #replicas: Replicas | undefined;
  readonly #writes = new Writes();
  #advised = false;

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
    this.observer = observer;
  }

  get closed(): boolean {
    return this.#client.status === "end";
  }

  get address(): string | undefined {
    const { host, port } = this.#client.options ?? {};
    return host === undefined || port === undefined ? undefined : `${host}:${port}`;
  }

  attempt(claim: Claim, { enqueue }: AttemptOptions): Promise<Attempt> {
    if (!this.#advised) this.#advise(claim);
    return this.#wakeable(enqueue, (enqueue) => this.#attempt(claim, enqueue));
  }

  vote(claim: Claim, { enqueue, guess, maxClockSkew }: VoteOptions): Promise<Vote> {
    if (!this.#advised) this.#advise(claim);
    const ask = (enqueue: boolean) => {
      const argv = [
        ...this.#asking(claim, enqueue),
        ...(enqueue ? [] : ["", ""]),
        `${guess}`,
        milliseconds(maxClockSkew),
      ];
      return this.#take(scripts.vote, claim, argv, scripts.decodeVote);
    };
    return this.#wakeable(enqueue, ask);
  }

  confirm(claim: Claim, fence: bigint): Promise<boolean> {
    const [lock, , , counter] = this.#keys(claim);
    return this.#run(scripts.confirm, [lock, counter], [claim.owner, `${fence}`], scripts.decodeFlag);
  }

  retake(claim: Claim, fence: bigint): Promise<boolean> {
    const [lock, , , counter] = this.#keys(claim);
    const argv = [claim.owner, milliseconds(claim.lease), `${fence}`];
    return this.#run(scripts.retake, [lock, counter], argv, scripts.decodeFlag);
  }

  async renew(claim: Claim): Promise<Renewal> {
    if (this.#replicas === undefined) {
      const argv = [claim.owner, milliseconds(claim.lease)];
      const decode = (reply: unknown) => scripts.decodeFlag(reply) ? "renewed" : "lost";
      return await this.#run(scripts.renew, [this.#prefix + claim.name], argv, decode);
    }
    // The holder must not trust a deadline that a promoted replica would not keep.
    const outcome = await this.#renewOnReplicas(claim, this.#replicas);
    if (outcome === "short") throw new Error(tooFew(this.#replicas));
    return outcome;
  }

  release(claim: Claim): Promise<boolean> {
    this.#wakeups.leave(claim.owner);
    return this.#giveBack(claim);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.#wakeups.wait(claim.owner, scripts.CLAIM, signal);
  }

  /** Not when the store is made: the observer may know it by a name that it does not have yet. */
  #advise({ name, owner }: Claim): void {
    this.#advised = true;
    const message = advice(this.#client);
    if (message !== undefined) tell(this.observer, { type: "warning", name, owner, message });
  }

  #giveBack(claim: Claim): Promise<boolean> {
    const { cuts } = this.#wakeups;
    const argv = [claim.owner, milliseconds(claim.lease)];
    // Cut off while it was out, the release may have been sent twice: then the first of them gave up the lock.
    const decode = (reply: unknown) => scripts.decodeFlag(reply) || cuts !== this.#wakeups.cuts;
    return this.#run(scripts.release, this.#keys(claim).slice(0, 3), argv, decode);
  }

  #wakeable<T extends { granted: boolean }>(enqueue: boolean, ask: (enqueue: boolean) => Promise<T>): Promise<T> {
    return !enqueue || this.#wakeups.subscribed ? ask(enqueue) : this.#firstWait(ask);
  }

  /** Nobody queues before it can be woken: the first contended wait of a client takes one more trip. */
  async #firstWait<T extends { granted: boolean }>(ask: (enqueue: boolean) => Promise<T>): Promise<T> {
    const answer = await ask(false);
    if (answer.granted) return answer;
    await this.#wakeups.subscribe();
    return await ask(true);
  }

  #attempt(claim: Claim, enqueue: boolean): Promise<Attempt> {
    const argv = this.#asking(claim, enqueue);
    return this.#take(scripts.attempt, claim, argv, scripts.decodeAttempt);
  }

  /** The first arguments of the scripts that take the lock. */
  #asking(claim: Claim, enqueue: boolean): string[] {
    const argv = [claim.owner, milliseconds(claim.lease)];
    if (enqueue) argv.push(this.#wakeups.reach, this.#wakeups.enter(claim.owner));
    return argv;
  }

  #take<T extends { granted: true }>(
    script: scripts.Script,
    claim: Claim,
    argv: string[],
    decode: (reply: unknown) => T | Busy,
  ): Promise<T | { granted: false; retryAfter: number }> {
    if (this.#replicas !== undefined) return this.#takeOnReplicas(script, claim, argv, decode, this.#replicas);
    return this.#run(script, this.#keys(claim), argv, (reply) => this.#note(claim, decode(reply)));
  }

  /** The owner keeps its ticket until the replicas have the lock, for the case that the grant is undone. */
  async #takeOnReplicas<T extends { granted: true }>(
    script: scripts.Script,
    claim: Claim,
    argv: string[],
    decode: (reply: unknown) => T | Busy,
    replicas: Replicas,
  ): Promise<T | { granted: false; retryAfter: number }> {
    const answer = await this.#run(script, this.#keys(claim), argv, decode);
    const outcome = answer.granted ? await this.#renewOnReplicas(claim, replicas) : undefined;
    if (outcome === "lost") throw new Error("the lock was lost before its replicas had it");
    if (outcome === "short") {
      await this.#giveBack(claim);
      throw new StoreError(tooFew(replicas));
    }
    return this.#note(claim, answer);
  }

  async #renewOnReplicas(claim: Claim, replicas: Replicas): Promise<Renewal | "short"> {
    const argv = [claim.owner, milliseconds(claim.lease)];
    const keys = [this.#prefix + claim.name];
    const [reply, count] = await runAndWait(this.#client, scripts.renew, keys, argv, replicas);
    if (!scripts.decodeFlag(reply)) return "lost";
    return count < replicas.min ? "short" : "renewed";
  }

  /** What their answer means for the wake-ups of the owner. */
  #note<T extends { granted: true }>(claim: Claim, answer: T | Busy): T | { granted: false; retryAfter: number } {
    if (answer.granted) {
      this.#wakeups.leave(claim.owner);
      return answer;
    }
    this.#wakeups.keep(claim.owner, answer.ticket);
    const { granted, retryAfter } = answer;
    return { granted, retryAfter: this.#wakeups.hearing ? retryAfter : Math.min(retryAfter, DEAF_POLL) };
  }

  #keys(claim: Claim): LockKeys {
    const keyPrefix = this.#client.options?.keyPrefix;
    return lockKeys(this.#prefix + claim.name, keyPrefix === undefined ? "" : String(keyPrefix));
  }

  #run<T>(script: scripts.Script, keys: string[], argv: string[], decode: (reply: unknown) => T): Promise<T> {
    const { cuts } = this.#wakeups;
    // What the server has answered is an outcome: it did not do it. Unless it was asked twice, over two connections.
    const failure = (error: unknown) => {
      if (!(error instanceof Error) || error.name !== "ReplyError" || cuts !== this.#wakeups.cuts) return error;
      return new StoreError(refusal(error.message), { cause: error });
    };
    this.#writes.next(this.#client.stream);
    return this.#client.evalsha(script.sha, keys.length, ...keys, ...argv).then(decode, async (error) => {
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw failure(error);
      return await this.#client.eval(script.source, keys.length, ...keys, ...argv).then(decode, (error) => {
        throw failure(error);
      });
    });
  }
}

/** A busy answer of the scripts that take the lock. */
interface Busy {
  readonly granted: false;
  readonly retryAfter: number;
  readonly ticket: string;
}

/** A duration as Redis takes it: whole milliseconds, never less than the holder believes in. */
function milliseconds(duration: number): string {
  return String(Math.ceil(duration));
}

function tooFew({ min, timeout }: Replicas): string {
  return `fewer than ${min} replicas had it within ${timeout} ms`;
}
