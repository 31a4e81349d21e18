import { acquire } from "../../acquire.ts";
import { acquireAll } from "../../acquire_all.ts";
import { LockError, LockLostError, LockTimeoutError, QuorumError } from "../../errors.ts";
import type { LockEvent } from "../../events.ts";
import { reason } from "../../internal/reason.ts";
import { show } from "../../internal/validation.ts";
import { redlock } from "../../composed/redlock/mod.ts";
import type { AcquireOptions } from "../../options.ts";
import type { Store } from "../../store.ts";
import { redis, type RedisClient } from "../../stores/redis/mod.ts";
import { called, type RedlockCallback } from "./callback.ts";
import { RedlockEmitter } from "./emitter.ts";
import { ExecutionError, type ExecutionResult, type ExecutionStats, ResourceLockedError } from "./errors.ts";
import { RedlockLock, type RedlockOrigin } from "./lock.ts";
import { checkSettings, type RedlockCompatSettings, waitOf } from "./settings.ts";

/** The signal of a routine: aborts when the lock is lost. `error` is its reason then. */
export type RedlockAbortSignal = AbortSignal & { readonly error?: Error };

/** What a routine is called with beside the signal. */
export interface RedlockUsingContext {
  /** The lock, with its fence. */
  readonly lock: RedlockLock;
}

/** A function that runs while a lock is held. */
export type RedlockRoutine<T> = (signal: RedlockAbortSignal, context: RedlockUsingContext) => T | PromiseLike<T>;

/**
 * Locks with the interface of redlock 5 and 4, under the keys of redlock: programs with the one and with the other
 * exclude each other.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import Redlock from "@holdfast/lock/compat/redlock"; // was: from "redlock"
 *
 * const locks = new Redlock([new Redis()], { retryCount: 10 });
 * await locks.using(["invoice:42"], 5_000, async (signal, { lock }) => {
 *   signal.throwIfAborted();
 *   console.log("charging with fence", lock.fence);
 * });
 * ```
 */
export class Redlock extends RedlockEmitter {
  /** The class of the locks, as redlock 4 has it. */
  static readonly Lock: typeof RedlockLock = RedlockLock;
  /** The class of the errors, as redlock 4 has it. */
  static readonly LockError: typeof ExecutionError = ExecutionError;
  /** The clients. */
  readonly clients: ReadonlySet<RedisClient>;
  /** The settings of calls that pass none. */
  readonly settings: RedlockCompatSettings;
  readonly #origin: RedlockOrigin;

  /**
   * Makes a store of one client, or one on a majority of several.
   *
   * @param clients 1 to 9 clients of independent servers
   * @param settings how to wait for locks, and how to trust them
   */
  constructor(clients: Iterable<RedisClient>, settings: Partial<RedlockCompatSettings> = {}, ...scripts: never[]) {
    super();
    if (scripts.some((each) => each !== undefined && Object.keys(each).length > 0)) {
      throw new TypeError(`scripts cannot be replaced: got ${show(scripts[0])}`);
    }
    this.clients = new Set(clients);
    if (this.clients.size === 0) throw new RangeError("clients must not be empty: got []");
    this.settings = checkSettings(settings);
    this.#origin = {
      store: this.#makeStore(),
      succeeded: () => ({ attempts: [this.#stats(new Map())] }),
      errorOf: (error) => this.#errorOf(error),
    };
  }

  /**
   * Acquires a lock on all resources, for `duration` milliseconds. Waits in the queue, as long as redlock would repeat
   * its attempts.
   *
   * @throws {ExecutionError} when a resource was not free in time, or the servers fail
   * @throws {RangeError} when the duration is no whole number from 10 to 2³¹ − 1
   */
  async acquire(
    resources: string | readonly string[],
    duration: number,
    settings?: Partial<RedlockCompatSettings>,
  ): Promise<RedlockLock> {
    return await this.#acquire(resources, duration, checkSettings(settings, this.settings), false);
  }

  /** Releases a lock; see {@linkcode RedlockLock.release}. Settings are ignored. */
  async release(lock: RedlockLock, _settings?: Partial<RedlockCompatSettings>): Promise<ExecutionResult> {
    return await checkLock(lock).release();
  }

  /** Renews a lock; see {@linkcode RedlockLock.extend}. Settings are ignored; redlock 4 has a callback there. */
  extend(
    lock: RedlockLock,
    duration: number,
    callback?: RedlockCallback<RedlockLock> | Partial<RedlockCompatSettings>,
  ): Promise<RedlockLock> {
    const extended = (async () => await checkLock(lock).extend(duration))();
    return called(extended, typeof callback === "function" ? callback : undefined);
  }

  /** Runs a function while a lock is held and renewed; see the other overload. */
  using<T>(resources: string | readonly string[], duration: number, routine: RedlockRoutine<T>): Promise<T>;
  /**
   * Runs a function while a lock is held and renewed, and releases the lock. An error of the function is what the call
   * rejects with.
   *
   * @throws {ExecutionError} when the lock could not be acquired, or was lost before the function ended
   */
  using<T>(
    resources: string | readonly string[],
    duration: number,
    settings: Partial<RedlockCompatSettings>,
    routine: RedlockRoutine<T>,
  ): Promise<T>;
  async using<T>(resources: string | readonly string[], duration: number, ...rest: unknown[]): Promise<T> {
    const routine = rest.pop();
    if (typeof routine !== "function") throw new TypeError(`routine must be a function: got ${show(routine)}`);
    const settings = checkSettings(rest[0] as Partial<RedlockCompatSettings> | undefined, this.settings);
    const lock = await this.#acquire(resources, duration, settings, true);
    let result: T;
    try {
      result = await routine(signalOf(lock), { lock });
    } catch (error) {
      await lock[Symbol.asyncDispose]().catch(() => {});
      throw error;
    }
    await lock[Symbol.asyncDispose]();
    return result;
  }

  /** Acquires a lock, in the manner of redlock 4. */
  lock(
    resources: string | readonly string[],
    ttl: number,
    callback?: RedlockCallback<RedlockLock>,
  ): Promise<RedlockLock> {
    return this.lockWithOptions(resources, ttl, {}, callback);
  }

  /** Acquires a lock with other settings, in the manner of redlock 4. */
  lockWithOptions(
    resources: string | readonly string[],
    ttl: number,
    settings: Partial<RedlockCompatSettings>,
    callback?: RedlockCallback<RedlockLock>,
  ): Promise<RedlockLock> {
    return called(this.acquire(resources, ttl, settings), callback);
  }

  /** Releases a lock, in the manner of redlock 4. */
  unlock(lock: RedlockLock, callback?: RedlockCallback<void>): Promise<void> {
    return called(this.release(lock).then(() => {}), callback);
  }

  /** Ends the connections of all clients. */
  quit(callback?: RedlockCallback<unknown[]>): Promise<unknown[]> {
    const clients = [...this.clients] as { quit?(): Promise<unknown> }[];
    return called(Promise.all(clients.map((client) => client.quit?.())), callback);
  }

  async #acquire(
    resources: string | readonly string[],
    duration: number,
    settings: RedlockCompatSettings,
    renew: boolean,
  ): Promise<RedlockLock> {
    if (!Number.isInteger(duration)) {
      throw new RangeError(`duration must be a whole number of milliseconds: got ${show(duration)}`);
    }
    const names = [...new Set(typeof resources === "string" ? [resources] : resources)];
    const options: AcquireOptions = { lease: duration, renew, wait: waitOf(settings), signal: settings.signal };
    const { store } = this.#origin;
    try {
      const held = names.length === 1
        ? await acquire(store, names[0]!, options)
        : await acquireAll(store, names, options);
      return new RedlockLock(this.#origin, held, settings.driftFactor, duration);
    } catch (error) {
      if (error instanceof LockTimeoutError) this.#report(new ResourceLockedError(error.message));
      throw this.#errorOf(error);
    }
  }

  #makeStore(): Store {
    const observer = (event: LockEvent) => {
      if (event.type === "fault") this.#report(event.error);
    };
    const clients = [...this.clients];
    const [client] = clients;
    if (clients.length === 1) return redis(client!, { prefix: "", observer });
    const { driftFactor } = this.settings;
    return redlock(clients.map((each) => redis(each, { prefix: "" })), { driftFactor, observer });
  }

  /** Emits an error, which is ignored if there is no listener. */
  #report(error: unknown): void {
    const given = errorFrom(error);
    this.emit("error", given);
    this.emit("clientError", given);
  }

  /** Returns the error that redlock has for one of `@holdfast/lock`; others stay as they are. */
  #errorOf(error: unknown): unknown {
    if (!(error instanceof LockError)) return error;
    const attempts = error instanceof LockLostError ? [] : [this.#stats(this.#votesAgainst(error))];
    return new ExecutionError(error.message, attempts, { cause: error });
  }

  #votesAgainst(error: LockError): Map<RedisClient, Error> {
    const clients = [...this.clients];
    if (error instanceof QuorumError) {
      return new Map(error.failures.map(({ index, error }) => [clients[index]!, errorFrom(error)]));
    }
    const each = error instanceof LockTimeoutError ? new ResourceLockedError(error.message) : errorFrom(error.cause);
    return new Map(clients.map((client) => [client, each]));
  }

  #stats(votesAgainst: Map<RedisClient, Error>): Promise<ExecutionStats> {
    const { size } = this.clients;
    const votesFor = new Set([...this.clients].filter((client) => !votesAgainst.has(client)));
    return Promise.resolve({ membershipSize: size, quorumSize: Math.floor(size / 2) + 1, votesFor, votesAgainst });
  }
}

function errorFrom(error: unknown): Error {
  return error instanceof Error ? error : new Error(reason(error));
}

function checkLock(lock: RedlockLock): RedlockLock {
  if (lock instanceof RedlockLock) return lock;
  throw new TypeError(`lock must be one that acquire() of this process has returned: got ${show(lock)}`);
}

/** Returns the signal of a lock, with the reason in the place where redlock has it. */
function signalOf({ signal }: RedlockLock): RedlockAbortSignal {
  return Object.defineProperty(signal, "error", { get: () => signal.reason as Error | undefined, configurable: true });
}
