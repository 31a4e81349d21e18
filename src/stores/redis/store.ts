import { StoreError } from "../../errors.ts";
import type { Observer } from "../../observer.ts";
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
import type { RedisClient } from "./client.ts";
import { type LockKeys, lockKeys } from "./keys.ts";
import { query } from "./query.ts";
import * as quorum from "./quorum_scripts.ts";
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
  /** Hears what happens to the locks of this store. */
  observer?: Observer | undefined;
}

/**
 * A store on a Redis (6.2 or later) or Valkey server. `acquire(client, …)` makes one with default options by itself.
 *
 * The key of a lock is `prefix + name`, a plain string with the owner (with a word that begins with a colon when several
 * may hold it), which any program that uses `SET NX PX` respects and is respected by. Beside it are the list of its
 * holders, when there are several, its queue, while somebody waits, and its last fence, for 7 days.
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
 * @param options the prefix of the keys, and an observer
 * @throws {TypeError} when the client lacks a method that is needed, or an option is of the wrong kind
 */
export function redis(client: RedisClient, options: RedisOptions = {}): QuorumNode {
  for (const method of ["evalsha", "eval", "duplicate", "on"]) {
    if (typeof Reflect.get(Object(client), method) !== "function") {
      throw new TypeError(`client must have the methods of an ioredis client: ${method} is missing`);
    }
  }
  const { prefix = "lock:", observer } = checkKeys(options, ["prefix", "observer"]);
  if (typeof prefix !== "string") throw new TypeError(`prefix must be a string: got ${show(prefix)}`);
  checkObserver(observer);
  return new RedisStore(client, prefix, observer);
}

/** The longest time between two attempts of a waiter that cannot be told of its turn: several in a claim time. */
const DEAF_POLL = 500;

class RedisStore implements QuorumNode {
  readonly drift = drift;
  readonly capabilities: readonly Capability[] = ["shared", "permits", "owner", "steal"];
  readonly observer: Observer | undefined;
  readonly #client: RedisClient;
  readonly #prefix: string;
  readonly #wakeups: Wakeups;
  readonly #writes = new Writes();

  constructor(client: RedisClient, prefix: string, observer: Observer | undefined) {
    this.#client = client;
    this.#prefix = prefix;
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

  attempt(claim: Claim, { enqueue, steal = false }: AttemptOptions): Promise<Attempt> {
    return this.#wakeable(enqueue, (enqueue) => {
      const argv = this.#asking(claim, enqueue, marker(claim, steal));
      return this.#run(scripts.attempt, this.#keys(claim), argv, (reply) => {
        return this.#note(claim, scripts.decodeAttempt(reply));
      });
    });
  }

  async vote(claim: Claim, { enqueue, guess, maxClockSkew }: VoteOptions): Promise<Vote> {
    const vote = await this.#wakeable(enqueue, (enqueue) => {
      const argv = [...this.#asking(claim, enqueue, marker(claim)), ...Array(5).fill("")].slice(0, 5);
      argv.push(`${guess}`, milliseconds(maxClockSkew));
      return this.#run(quorum.vote, this.#keys(claim), argv, (reply) => this.#note(claim, quorum.decodeVote(reply)));
    });
    return "conflict" in vote ? { granted: false, retryAfter: scripts.POLL } : vote;
  }

  confirm(claim: Claim, fence: bigint): Promise<boolean> {
    return this.#run(quorum.confirm, this.#keys(claim), [holdOf(claim), `${fence}`], scripts.decodeFlag);
  }

  retake(claim: Claim, fence: bigint): Promise<boolean> {
    const argv = [holdOf(claim), milliseconds(claim.lease), marker(claim), `${fence}`];
    return this.#run(quorum.retake, this.#keys(claim), argv, scripts.decodeFlag);
  }

  renew(claim: Claim): Promise<Renewal> {
    const keys = marker(claim) === "" ? [this.#prefix + claim.name] : this.#keys(claim).slice(0, 4);
    const argv = [holdOf(claim), milliseconds(claim.lease)];
    return this.#run(scripts.renew, keys, argv, (reply) => scripts.decodeFlag(reply) ? "renewed" : "lost");
  }

  release(claim: Claim): Promise<boolean> {
    this.#wakeups.leave(holdOf(claim));
    const { cuts } = this.#wakeups;
    const argv = [holdOf(claim), milliseconds(claim.lease)];
    // Cut off while it was out, the release may have been sent twice: then the first of them gave up the lock.
    const decode = (reply: unknown) => scripts.decodeFlag(reply) || cuts !== this.#wakeups.cuts;
    return this.#run(scripts.release, this.#keys(claim).slice(0, 4), argv, decode);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.#wakeups.wait(holdOf(claim), scripts.CLAIM, signal);
  }

  eviction(claim: Claim, signal: AbortSignal): Promise<void> {
    const keys = this.#keys(claim).slice(0, 4);
    const held = () => this.#run(scripts.held, keys, [holdOf(claim)], scripts.decodeFlag);
    return this.#wakeups.evicted(holdOf(claim), held, signal);
  }

  evict(name: string): Promise<number> {
    return this.#run(scripts.evict, this.#keys({ name }).slice(0, 4), [`${scripts.CLAIM}`], Number);
  }

  query(): Promise<Snapshot> {
    return query(this.#client, this.#prefix, this.#keyPrefix, (name) => {
      return this.#run(scripts.look, this.#keys({ name }).slice(0, 4), [], (reply) => scripts.decodeLook(name, reply));
    });
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

  /** What their answer means for the wake-ups of the handle. */
  #note<T extends { granted: true }>(
    claim: Claim,
    answer: T | scripts.Refusal,
  ): T | Exclude<Attempt, { granted: true }> {
    if (answer.granted || "conflict" in answer) {
      this.#wakeups.leave(holdOf(claim));
      return answer;
    }
    this.#wakeups.keep(holdOf(claim), answer.ticket);
    const { granted, retryAfter } = answer;
    return { granted, retryAfter: this.#wakeups.hearing ? retryAfter : Math.min(retryAfter, DEAF_POLL) };
  }

  #keys({ name }: Pick<Claim, "name">): LockKeys {
    return lockKeys(this.#prefix + name, this.#keyPrefix);
  }

  get #keyPrefix(): string {
    const keyPrefix = this.#client.options?.keyPrefix;
    return keyPrefix === undefined ? "" : String(keyPrefix);
  }

  #run<T>(script: scripts.Script, keys: string[], argv: string[], decode: (reply: unknown) => T): Promise<T> {
    const { cuts } = this.#wakeups;
    // What the server has answered is an outcome: it did not do it. Unless it was asked twice, over two connections.
    const refusal = (error: unknown) => {
      if (!(error instanceof Error) || error.name !== "ReplyError" || cuts !== this.#wakeups.cuts) return error;
      return new StoreError(error.message, { cause: error });
    };
    this.#writes.next(this.#client.stream);
    return this.#client.evalsha(script.sha, keys.length, ...keys, ...argv).then(decode, async (error) => {
      if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw refusal(error);
      return await this.#client.eval(script.source, keys.length, ...keys, ...argv).then(decode, (error) => {
        throw refusal(error);
      });
    });
  }
}

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
