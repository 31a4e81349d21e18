import { StoreError } from "../../errors.ts";
import type { Observer } from "../../observer.ts";
import { type Attempt, type AttemptOptions, type Claim, drift, type Renewal, type Store } from "../../store.ts";
import { checkKeys, checkObserver, show } from "../../_check.ts";
import type { RedisClient } from "./client.ts";
import { lockKeys } from "./keys.ts";
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
 * @param options the prefix of the keys, and an observer
 * @throws {TypeError} when the client lacks a method that is needed, or an option is of the wrong kind
 */
export function redis(client: RedisClient, options: RedisOptions = {}): Store {
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

class RedisStore implements Store {
  readonly drift = drift;
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

  attempt(claim: Claim, { enqueue }: AttemptOptions): Promise<Attempt> {
    if (!enqueue) return this.#attempt(claim, false);
    return this.#wakeups.subscribed ? this.#attempt(claim, true) : this.#firstWait(claim);
  }

  renew(claim: Claim): Promise<Renewal> {
    const keys = [this.#prefix + claim.name];
    const argv = [claim.owner, milliseconds(claim.lease)];
    return this.#run(scripts.renew, keys, argv, (reply) => scripts.decodeFlag(reply) ? "renewed" : "lost");
  }

  release(claim: Claim): Promise<boolean> {
    this.#wakeups.leave(claim.owner);
    const { cuts } = this.#wakeups;
    const argv = [claim.owner, milliseconds(claim.lease)];
    // Cut off while it was out, the release may have been sent twice: then the first of them gave up the lock.
    const decode = (reply: unknown) => scripts.decodeFlag(reply) || cuts !== this.#wakeups.cuts;
    return this.#run(scripts.release, this.#keys(claim).slice(0, 3), argv, decode);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.#wakeups.wait(claim.owner, scripts.CLAIM, signal);
  }

  /** Nobody queues before it can be woken: the first contended wait of a client takes one more trip. */
  async #firstWait(claim: Claim): Promise<Attempt> {
    const attempt = await this.#attempt(claim, false);
    if (attempt.granted) return attempt;
    await this.#wakeups.subscribe();
    return await this.#attempt(claim, true);
  }

  #attempt(claim: Claim, enqueue: boolean): Promise<Attempt> {
    const { owner } = claim;
    const argv = [owner, milliseconds(claim.lease)];
    if (enqueue) argv.push(this.#wakeups.reach, this.#wakeups.enter(owner));
    return this.#run(scripts.attempt, this.#keys(claim), argv, (reply) => {
      const attempt = scripts.decodeAttempt(reply);
      if (attempt.granted) this.#wakeups.leave(owner);
      else this.#wakeups.keep(owner, attempt.ticket);
      if (attempt.granted || this.#wakeups.hearing) return attempt;
      return { granted: false, retryAfter: Math.min(attempt.retryAfter, DEAF_POLL) };
    });
  }

  #keys(claim: Claim): string[] {
    const keyPrefix = this.#client.options?.keyPrefix;
    return lockKeys(this.#prefix + claim.name, keyPrefix === undefined ? "" : String(keyPrefix));
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

/** A duration as Redis takes it: whole milliseconds, never less than the holder believes in. */
function milliseconds(duration: number): string {
  return String(Math.ceil(duration));
}
