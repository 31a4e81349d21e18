import { type Clock, SystemClock } from "../../internal/clock.ts";
import { aborted } from "../../internal/aborted.ts";
import { isPlain } from "../../internal/cohort.ts";
import { checkEvict, isMeant } from "../../internal/eviction.ts";
import { describeMistake, looksLikeClient, looksLikeStore } from "../../internal/mistaken_target.ts";
import { RELEASE_LIMIT_MS, within } from "../../internal/release.ts";
import { ShortLivedMap, ShortLivedSet } from "../../internal/short_lived.ts";
import type { Observer } from "../../events.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Capability,
  type Claim,
  type EvictOptions,
  handleOf,
  type Meta,
  type QueryOptions,
  type Renewal,
  type Snapshot,
  type Store,
} from "../../store.ts";
import type { RedisClient } from "../../stores/redis/client.ts";
import { redis } from "../../stores/redis/mod.ts";
import type { LockTarget } from "../../target.ts";
import { redlock } from "../redlock/mod.ts";
import { cohortOf } from "./cohorts.ts";
import { withLocalHandles } from "./listing.ts";
import { LoneHandles } from "./lone_handles.ts";
import { NameCohort } from "./name_cohort.ts";
import { checkCohortOptions, type CohortOptions, type CohortSettings } from "./options.ts";
import { ProcessIds } from "./process_ids.ts";

/** From how many names on the cohort looks for names that are no longer used. */
const PRUNE_FROM = 1_000;

/** A store made of another one, see {@linkcode cohort}. Disposing of the cohort does not close the other store. */
export interface Cohort extends Store, AsyncDisposable {
  /**
   * Gives back the locks that no handle holds. Locks that are held stay held, and waiters keep their order. Waits until
   * the store has answered the requests in flight, for 5 s at most. Later calls go to the store as they are.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Returns a store in which the handles of this process that want the same lock, a *cohort*, share one place in the queue:
 * the process asks for the lock once, hands it on from handle to handle without a request, and gives it back. While only
 * one handle wants a lock, it asks the store as itself; with `linger` the process always asks.
 *
 * **Waiting is not strictly first come, first served.** For `keep` milliseconds after a grant, the handles of this process
 * come before all other waiters. Then the process queues at the end. A waiter of another process waits at most `keep`, one
 * section and one renewal for each cohort that is ahead of it. With `linger` the process also keeps a lock for a moment
 * that no handle holds: see {@linkcode CohortOptions.linger} for when not to use that.
 *
 * `query()` lists the handles of this process as if each had asked the store by itself. To other processes the store
 * lists an id that this process has made, with the `host` and `pid` of the process as its `meta`.
 *
 * Fences rise from handle to handle. They are reserved together with the grant; a store that reserves none is asked for
 * each section. After `steal`, `evict` or a failover elsewhere the process may hand the lock on until it is notified, for
 * `keep` at most; the fence orders those handles. `steal` and `evict` of this process end that at once. Only the last
 * release asks the store, and so only that one reports a loss of which the process was not notified.
 *
 * Shared locks, permits, locks with an `owner` and `steal` go to the store as they are. The same target and options give
 * the same cohort until it is disposed of. A cohort can be neither the target of another cohort nor a node of Redlock.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { cohort } from "@holdfast/lock/cohort";
 * import { memory } from "@holdfast/lock/memory";
 *
 * await using store = cohort(memory(), { keep: 10 });
 * await using lock = await acquire(store, "invoice:42");
 * ```
 *
 * @param target a store; a Redis client of ioredis's shape; or an array of clients of independent servers (Redlock)
 * @param options for how long the process hands the lock on, and keeps it while no handle holds it
 * @throws {TypeError} when the target is of the wrong kind or a cohort, or an option is unknown or of the wrong type
 * @throws {RangeError} when a number is out of range
 */
export function cohort(target: LockTarget, options: CohortOptions = {}): Cohort {
  const settings = checkCohortOptions(options);
  if (target instanceof CohortStore) {
    throw new TypeError("target must not be a cohort: give cohort() what that was made of");
  }
  return cohortOf(target, settings, () => new CohortStore(storeOf(target), settings, new SystemClock()));
}

function storeOf(target: LockTarget): Store {
  if (Array.isArray(target)) return redlock(target);
  if (looksLikeStore(target)) return target as Store;
  if (looksLikeClient(target)) return redis(target as RedisClient);
  throw new TypeError(
    `target must be a Store, a client of ioredis's shape, or an array of such clients: got ${describeMistake(target)}`,
  );
}

/** The store of `cohort()`. The state that the handles of one name share is in a {@linkcode NameCohort}. */
export class CohortStore implements Cohort {
  readonly capabilities: readonly Capability[];
  readonly evict?: (name: string, options?: EvictOptions) => Promise<number>;
  readonly query?: (options?: QueryOptions) => Promise<Snapshot>;
  readonly #store: Store;
  readonly #settings: CohortSettings;
  readonly #clock: Clock;
  readonly #names = new ShortLivedMap<string, NameCohort>();
  /** The requests in the background, which no caller awaits. */
  readonly #requests = new ShortLivedSet<Promise<unknown>>();
  readonly #lone: LoneHandles;
  readonly #ids = new ProcessIds();
  #pruneAt = PRUNE_FROM;
  #disposing: Promise<void> | undefined;

  /** Makes a cohort on a store. `shared` are names that several handles of this process are known to want at once. */
  constructor(store: Store, settings: CohortSettings, clock: Clock, shared: Iterable<string> = []) {
    this.#store = store;
    this.#settings = settings;
    this.#clock = clock;
    this.#lone = new LoneHandles(clock, shared);
    // The blocks of fences and the runs belong to the process, not to its handles.
    this.capabilities = (store.capabilities ?? []).filter((each) => each !== "fences" && each !== "runs");
    if (store.evict !== undefined) this.evict = (name, options) => this.#evict(name, options);
    if (store.query !== undefined) this.query = (options) => this.#query(options);
  }

  /** Whether it was disposed of. */
  get disposed(): boolean {
    return this.#disposing !== undefined;
  }

  /** The names that handles of this process hold or wait for. */
  get names(): string[] {
    const shared = [...this.#names.entries()].flatMap(([name, made]) => made.unused ? [] : [name]);
    return [...shared, ...this.#lone.names];
  }

  get observer(): Observer | undefined {
    return this.#store.observer;
  }

  get closed(): boolean {
    return this.#store.closed === true;
  }

  get connectionError(): Error | undefined {
    return this.#store.connectionError;
  }

  readonly drift = (lease: number): number => this.#store.drift(lease);

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const known = this.#names.get(claim.name);
    if (isPlain(claim) && !options.steal) {
      if (known !== undefined) return known.attempt(claim, options);
      if (this.disposed) return this.#store.attempt(claim, options);
      // To linger, the process itself must have the lock.
      if (this.#settings.linger === 0 && this.#lone.admits(claim)) return this.#attemptAlone(claim, options);
      return this.#made(claim.name).attempt(claim, options);
    }
    return known === undefined ? this.#pass(claim, options) : known.passThrough(claim, options);
  }

  renew(claim: Claim): Promise<Renewal> {
    this.#lone.renewed(claim);
    return this.#names.get(claim.name)?.renew(claim) ?? this.#store.renew(claim);
  }

  release(claim: Claim): Promise<boolean> {
    this.#lone.forget(claim);
    return this.#names.get(claim.name)?.release(claim) ?? this.#store.release(claim);
  }

  async wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const woken = this.#names.get(claim.name)?.wakeup(claim, signal) ?? this.#store.wakeup?.(claim, signal);
    return await (woken ?? aborted(signal));
  }

  async revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    const revoked = this.#names.get(claim.name)?.revocation(claim, signal) ?? this.#store.revocation?.(claim, signal);
    return await (revoked ?? aborted(signal));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposing ??= this.#dispose();
  }

  async #dispose(): Promise<void> {
    // From here on, as `disposed` is read only after this has begun.
    await undefined;
    this.#lone.clear();
    for (const name of this.#names.values()) name.close();
    const settled = async () => {
      while (this.#requests.size > 0) await Promise.all(this.#requests);
    };
    await within(RELEASE_LIMIT_MS, settled(), this.#clock).catch(() => {});
  }

  /** Attempts for a handle whose lock no other handle of this process wants. */
  #attemptAlone(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    return this.#store.attempt(claim, options).then((attempt) => {
      const lone = this.#lone.get(claim);
      if (lone === undefined) {
        // Other handles have come meanwhile, or it was released.
        if (attempt.granted) this.#names.get(claim.name)?.tickets.adoptGranted(claim);
      } else if (attempt.granted) lone.granted = true;
      // A handle that does not wait is released only if it was granted the lock.
      else if (!options.enqueue) this.#lone.forget(claim);
      return attempt;
    });
  }

  /** Passes a claim to the store as it is. */
  async #pass(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await this.#store.attempt(claim, options);
    const name = this.#names.get(claim.name);
    if (attempt.granted && options.steal) this.#lone.revoked(claim.name);
    // Handles of this process may have come meanwhile, and the process may keep a lock that none of them holds.
    return attempt.granted || name === undefined ? attempt : await name.passThrough(claim, options);
  }

  async #evict(name: string, options?: EvictOptions): Promise<number> {
    const known = this.#names.get(name);
    const target = checkEvict(options);
    if (target.handle !== undefined || target.fence !== undefined) {
      // What is listed is the handle that has the lock; the store has it under an id of the process.
      const [[id, holder] = []] = known?.listing.held ?? [];
      if (id === undefined || holder === undefined) {
        const evicted = await this.#store.evict!(name, options);
        if (evicted > 0) this.#lone.revoked(name);
        return evicted;
      }
      if (!isMeant(target, { handle: handleOf(holder.claim), fence: holder.fence })) return 0;
      const evicted = this.#store.evict!(name, { handle: id, meta: options?.meta });
      known?.revoke();
      return await evicted;
    }
    // A lock that no handle holds does not count. If the store does not answer, it is evicted with the others.
    if (known !== undefined) await within(RELEASE_LIMIT_MS, known.giveBackUnheld(), this.#clock).catch(() => {});
    const evicted = this.#store.evict!(name, options);
    known?.revoke();
    this.#lone.revoked(name);
    return await evicted;
  }

  async #query(options: QueryOptions = {}): Promise<Snapshot> {
    return withLocalHandles({
      snapshot: await this.#store.query!(options),
      options,
      names: this.#names.keys(),
      of: (name) => this.#names.get(name)?.listing,
      ids: this.#ids,
    });
  }

  /** Makes the state of a name. Once there are many names, deletes those whose handles never came back. */
  #made(name: string): NameCohort {
    if (this.#names.size >= this.#pruneAt) this.#prune();
    const forget = () => {
      if (made.unused && this.#names.get(name) === made) this.#names.delete(name);
    };
    const track = (request: Promise<unknown>) => {
      this.#requests.add(request);
      request.then(() => {
        this.#requests.delete(request);
        forget();
      });
    };
    const tidy = async () => {
      await undefined;
      forget();
    };
    const site = { store: this.#store, clock: this.#clock, settings: this.#settings, ids: this.#ids, track, tidy };
    const made = new NameCohort(site, name);
    this.#names.set(name, made);
    const lone = this.#lone.take(name);
    if (lone !== undefined) made.tickets.adopt(lone.claim, lone.granted);
    return made;
  }

  #prune(): void {
    const now = this.#clock.now();
    for (const [name, made] of this.#names.entries()) {
      made.prune(now);
      if (made.unused) this.#names.delete(name);
    }
    this.#pruneAt = Math.max(PRUNE_FROM, 2 * this.#names.size);
  }
}
