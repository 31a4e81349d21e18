import type { Lock, MultiLock, Store } from "@holdfast/lock";
import { SystemClock } from "../clock.ts";
import { called, type RedlockCallback } from "./callback.ts";
import { ExecutionError, type ExecutionResult } from "./errors.ts";

const CLOCK = new SystemClock();

/** The part of a `Redlock` that its locks need. */
export interface RedlockOrigin {
  /** The store that has the lock. */
  readonly store: Store;
  /** Returns the result of a call that succeeded. */
  succeeded(): ExecutionResult;
  /** Returns the error of redlock for an error of `@holdfast/lock`. */
  errorOf(error: unknown): unknown;
}

/**
 * A lock that is held, on one or several resources. Made by `Redlock.acquire`.
 *
 * Unlike a lock of redlock it reports its loss (`signal`), and has a number that protects from a stale holder
 * (`fence`). `await using` releases it.
 */
export class RedlockLock implements AsyncDisposable {
  /** The resources, each once. */
  readonly resources: string[];
  /** The value of its key on a single server; of several resources, each key contains a value of its own. */
  readonly value: string;
  /** The votes in each attempt that counted. */
  readonly attempts: ExecutionResult["attempts"];
  /**
   * Until when the lock may be trusted unless it is extended, in milliseconds since the Unix epoch; 0 once released.
   */
  expiration: number;
  /** The fencing token of the first resource: larger than the token of every earlier holder. */
  readonly fence: bigint;
  /** The fencing token of each resource. */
  readonly fences: ReadonlyMap<string, bigint>;
  readonly #origin: RedlockOrigin;
  readonly #held: Lock | MultiLock;
  readonly #driftFactor: number;
  #released = false;

  /** Wraps a lock that was acquired for `duration` milliseconds. */
  constructor(
    origin: RedlockOrigin,
    held: Lock | MultiLock,
    { attempts, duration, driftFactor }: {
      readonly attempts: ExecutionResult["attempts"];
      readonly duration: number;
      readonly driftFactor: number;
    },
  ) {
    this.#origin = origin;
    this.#held = held;
    this.#driftFactor = driftFactor;
    this.fences = "fences" in held ? held.fences : new Map([[held.name, held.fence]]);
    this.resources = [...this.fences.keys()];
    this.value = "owner" in held ? held.owner : crypto.randomUUID();
    this.fence = [...this.fences.values()][0]!;
    this.attempts = attempts;
    this.expiration = this.#expirationOf(duration);
  }

  /** The resources, under their name in redlock 4. */
  get resource(): string[] {
    return this.resources;
  }

  /** Aborts when the lock is lost; does not abort when it is released. */
  get signal(): AbortSignal {
    return this.#held.signal;
  }

  /**
   * Releases the lock.
   *
   * @throws {ExecutionError} when the lock was lost or released before, or the store cannot be reached for 5 s
   */
  async release(): Promise<ExecutionResult> {
    this.expiration = 0;
    if (this.#released) throw new ExecutionError(`Cannot release ${this.#names}: it was released before`, []);
    this.#released = true;
    await this.#held.release().catch((error) => this.#fail(error));
    return this.#origin.succeeded();
  }

  /**
   * Renews the lock, for `duration` milliseconds from now on. Resolves to the same lock.
   *
   * @throws {ExecutionError} when the lock was lost or released before, or the store does not answer
   */
  extend(duration: number, callback?: RedlockCallback<this>): Promise<this> {
    return called(this.#extend(duration), callback);
  }

  /** Releases the lock. The name in redlock 4. */
  unlock(callback?: RedlockCallback<void>): Promise<void> {
    return called(this.release().then(() => {}), callback);
  }

  async #extend(duration: number): Promise<this> {
    if (this.#released) throw new ExecutionError(`Cannot extend ${this.#names}: it was released before`, []);
    await this.#held.extend(duration).catch((error) => this.#fail(error));
    this.expiration = this.#expirationOf(duration);
    return this;
  }

  /** Releases the lock at the end of an `await using` scope. Rejects only if the lock was lost before. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.expiration = 0;
    if (this.#released) return;
    this.#released = true;
    await this.#held[Symbol.asyncDispose]().catch((error) => this.#fail(error));
  }

  get #names(): string {
    return this.resources.map((name) => JSON.stringify(name)).join(", ");
  }

  #fail(error: unknown): never {
    throw this.#origin.errorOf(error);
  }

  /** Returns when the lease ends by the wall clock: earlier than in the store by the rest of the drift factor. */
  #expirationOf(duration: number): number {
    const { store } = this.#origin;
    const earlier = Math.max(0, Math.round(this.#driftFactor * duration) + 2 - store.drift(duration));
    return Math.floor(CLOCK.now().wall + this.#held.remaining() - earlier);
  }
}
