import {
  acquire,
  acquireAll,
  type Lock,
  LockError,
  type LockEvent,
  LockLostError,
  LockTimeoutError,
  type MultiLock,
  QuorumError,
  type Store,
} from "@holdfast/lock";
import { reason, show } from "@holdfast/lock/authors";
import { redis, type RedisClient } from "@holdfast/lock/redis";
import { redlock } from "@holdfast/lock/redlock";
import { LimitedStore, type Refusal } from "../limited_store.ts";
import { called, type RedlockCallback } from "./callback.ts";
import { RedlockEmitter } from "./emitter.ts";
import { ExecutionError, type ExecutionResult, type ExecutionStats, ResourceLockedError } from "./errors.ts";
import { RedlockLock, type RedlockOrigin } from "./lock.ts";
import { checkSettings, limitsOf, type RedlockCompatSettings } from "./settings.ts";

/** The signal of a routine: aborts when the lock is lost. `error` is then its reason. */
export type RedlockAbortSignal = AbortSignal & { readonly error?: Error };

/** The second argument of a routine, after the signal. */
export interface RedlockUsingContext {
  /** The lock, with its fence. */
  readonly lock: RedlockLock;
}

/** A function that runs while a lock is held. */
export type RedlockRoutine<T> = (signal: RedlockAbortSignal, context: RedlockUsingContext) => T | PromiseLike<T>;

/**
 * Locks with the interface of redlock 5 and 4, under the keys of redlock: programs with either library exclude each
 * other.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import Redlock from "@holdfast/compat/redlock"; // was: from "redlock"
 *
 * const locks = new Redlock([new Redis()], { retryCount: 10 });
 * await locks.using(["invoice:42"], 5_000, async (signal, { lock }) => {
 *   signal.throwIfAborted();
 *   console.log("charging with fence", lock.fence);
 * });
 * ```
 */
export class Redlock extends RedlockEmitter {
  /** The class of the locks, under its name in redlock 4. */
  static readonly Lock: typeof RedlockLock = RedlockLock;
  /** The class of the errors, under its name in redlock 4. */
  static readonly LockError: typeof ExecutionError = ExecutionError;
  /** The clients. */
  readonly clients: ReadonlySet<RedisClient>;
  /** The settings of calls that pass none. */
  readonly settings: RedlockCompatSettings;
  readonly #origin: RedlockOrigin;

  /**
   * Creates a store of one client, or of a majority of several.
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
      succeeded: () => ({ attempts: [this.#success()] }),
      errorOf: (error) => this.#errorOf(error),
    };
  }

  /**
   * Acquires a lock on all resources, for `duration` milliseconds. Waits in the queue until the lock is granted or as
   * many attempts were refused as the settings allow. Redlock 4 has a callback in the place of the settings.
   *
   * @throws {ExecutionError} when a resource was busy at the last attempt, or the servers fail
   * @throws {RangeError} when the duration is no whole number from 10 to 2³¹ − 1
   */
  acquire(
    resources: string | readonly string[],
    duration: number,
    settings?: Partial<RedlockCompatSettings> | RedlockCallback<RedlockLock>,
  ): Promise<RedlockLock> {
    if (typeof settings === "function") return this.lock(resources, duration, settings);
    return (async () => await this.#acquire(resources, duration, checkSettings(settings, this.settings), false))();
  }

  /**
   * Releases a lock; see {@linkcode RedlockLock.release}. Settings are ignored; redlock 4 has a callback in their
   * place.
   */
  release(
    lock: RedlockLock,
    callback?: RedlockCallback<ExecutionResult> | Partial<RedlockCompatSettings>,
  ): Promise<ExecutionResult> {
    const released = (async () => await checkLock(lock).release())();
    return called(released, typeof callback === "function" ? callback : undefined);
  }

  /**
   * Renews a lock; see {@linkcode RedlockLock.extend}. Settings are ignored; redlock 4 has a callback in their place.
   */
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
   * Runs a function while a lock is held and renewed, and releases the lock. The call rejects with the error of the
   * function.
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
      await lock[Symbol.asyncDispose]().catch(() => {}); // The error of the routine says more.
      throw error;
    }
    await lock[Symbol.asyncDispose]();
    return result;
  }

  /** Acquires a lock. The name in redlock 4. */
  lock(
    resources: string | readonly string[],
    ttl: number,
    callback?: RedlockCallback<RedlockLock>,
  ): Promise<RedlockLock> {
    return this.lockWithOptions(resources, ttl, {}, callback);
  }

  /** Acquires a lock with other settings. The name in redlock 4. */
  lockWithOptions(
    resources: string | readonly string[],
    ttl: number,
    settings: Partial<RedlockCompatSettings>,
    callback?: RedlockCallback<RedlockLock>,
  ): Promise<RedlockLock> {
    return called(this.acquire(resources, ttl, settings), callback);
  }

  /** Acquires a lock with other settings. The other name in redlock 4; see {@linkcode lockWithOptions}. */
  acquireWithOptions(...call: Parameters<Redlock["lockWithOptions"]>): Promise<RedlockLock> {
    return this.lockWithOptions(...call);
  }

  /** Releases a lock. The name in redlock 4. */
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
    const limits = limitsOf(settings, (fault) => this.#report(fault));
    const store = new LimitedStore(this.#origin.store, limits);
    try {
      const held = await store.run<Lock | MultiLock>(settings.signal, (signal) => {
        const options = { lease: duration, renew, signal };
        return names.length === 1 ? acquire(store, names[0]!, options) : acquireAll(store, names, options);
      });
      const attempts = [...store.refusals.map((refusal) => this.#failure(refusal)), this.#success()];
      return new RedlockLock(this.#origin, held, { attempts, duration, driftFactor: settings.driftFactor });
    } catch (error) {
      if (error instanceof LockTimeoutError) this.#report(new ResourceLockedError(error.message));
      if (!(error instanceof LockError)) throw error;
      // An error that ends a call before its attempts are used up counts as an attempt.
      const refusals: Refusal[] = store.over ? store.refusals : [...store.refusals, { fault: error }];
      const attempts = refusals.map((refusal) => this.#failure(refusal, error.message));
      throw new ExecutionError(error.message, attempts, { cause: error });
    }
  }

  #makeStore(): Store {
    const observer = (event: LockEvent) => {
      if (event.type === "fault") this.#report(event.error);
    };
    const clients = [...this.clients];
    const [client] = clients;
    if (clients.length === 1) return redis(client!, { prefix: "", observer });
    const { driftFactor, nodeTimeout } = this.settings;
    return redlock(clients.map((each) => redis(each, { prefix: "" })), { driftFactor, nodeTimeout, observer });
  }

  /** Emits an error, which is ignored if there is no listener. */
  #report(error: unknown): void {
    const given = errorFrom(error);
    this.emit("error", given);
    this.emit("clientError", given);
  }

  /** Returns the error of redlock for an error of `@holdfast/lock`; other errors unchanged. */
  #errorOf(error: unknown): unknown {
    if (!(error instanceof LockError)) return error;
    const attempts = error instanceof LockLostError ? [] : [this.#failure({ fault: error })];
    return new ExecutionError(error.message, attempts, { cause: error });
  }

  #success(): Promise<ExecutionStats> {
    return this.#stats(new Map());
  }

  /** Returns the votes of an attempt that was refused. */
  #failure(refusal: Refusal, message = "The lock is held by another owner"): Promise<ExecutionStats> {
    const clients = [...this.clients];
    if (refusal !== "busy" && refusal.fault instanceof QuorumError) {
      return this.#stats(new Map(refusal.fault.failures.map(({ index, error }) => [clients[index]!, causeOf(error)])));
    }
    const error = refusal === "busy" ? new ResourceLockedError(message) : causeOf(refusal.fault);
    return this.#stats(new Map(clients.map((client) => [client, error])));
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

/** Returns the error of a client: the cause of an error of `@holdfast/lock`, if it has one. */
function causeOf(fault: unknown): Error {
  return errorFrom(fault instanceof LockError ? fault.cause ?? fault : fault);
}

function checkLock(lock: RedlockLock): RedlockLock {
  if (lock instanceof RedlockLock) return lock;
  throw new TypeError(`lock must be one that acquire() of this process has returned: got ${show(lock)}`);
}

/** Returns the signal of a lock, with its reason under redlock's name. */
function signalOf({ signal }: RedlockLock): RedlockAbortSignal {
  return Object.defineProperty(signal, "error", { get: () => signal.reason as Error | undefined, configurable: true });
}
