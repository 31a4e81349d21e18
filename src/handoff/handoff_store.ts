import { aborted } from "../time/aborted.ts";
import type { Clock } from "../time/clock.ts";
import { isPlain } from "../rules/group.ts";
import { checkReceiver } from "../internal/receiver.ts";
import { checkEvict, isMeant } from "../internal/listing/eviction.ts";
import { RELEASE_LIMIT_MS, within } from "../contract/release.ts";
import { ShortLivedMap, ShortLivedSet } from "../time/short_lived.ts";
import type { Observer } from "../contract/events.ts";
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
} from "../contract/store.ts";
import { withLocalHandles } from "./listing.ts";
import { NameHandoff } from "./name_handoff.ts";
import { HandoffPlace } from "./place.ts";
import type { HandoffContext, HandoffSettings, HandoffTarget } from "./context.ts";

/** The settings without `keep`: only the members of a run are handed the lock, in the order of the store's queue. */
const RUNS: HandoffSettings = { keep: 0, linger: 0 };

/**
 * A store that hands a lock on from one handle to the next inside this process: each handle then costs less than an
 * attempt, a wake-up and a release. After Dice, Marathe and Shavit, "Lock Cohorting" (2012). The state of one name is
 * in a {@linkcode NameHandoff}.
 *
 * A handle whose name no other handle wants goes straight to the store: only its id is kept.
 */
export class HandoffStore<Target extends HandoffTarget = HandoffTarget> implements Store {
  /** The store that keeps the locks. */
  readonly target: Target;
  readonly capabilities: readonly Capability[];
  readonly evict?: (name: string, options?: EvictOptions) => Promise<number>;
  readonly query?: (options?: QueryOptions) => Promise<Snapshot>;
  /**
   * The state of each name: the id of its only handle, or the {@linkcode NameHandoff} of several handles. Some handles
   * may have been left without a release.
   */
  readonly #names = new ShortLivedMap<string, string | NameHandoff>((state, old) => {
    if (state instanceof NameHandoff) state.prune();
    return old && typeof state === "string";
  });
  /** The names whose sections lasted as long as `keep` when handles last shared the lock, the oldest first. */
  readonly #long = new ShortLivedMap<string, true>((_, old) => old);
  readonly #requests = new ShortLivedSet<Promise<unknown>>();
  /** The place of the locks: other objects may hand them on as well. */
  readonly place: HandoffPlace;
  readonly #context: HandoffContext;
  readonly #drift = (lease: number): number => this.target.drift(lease);
  /** Whether it has stopped handing on. */
  #stopped = false;
  /** How many names have several handles, and the function that stops listening for the end of the store. */
  #shared = 0;
  #unsubscribe: (() => void) | undefined;

  /**
   * Hands on the locks of a store.
   *
   * @param place the place of the locks, if callers do not have the store itself and reach its locks only through such
   * objects
   */
  constructor(target: Target, clock: Clock, settings?: HandoffSettings, place?: HandoffPlace) {
    this.target = target;
    this.place = place ?? new HandoffPlace(target);
    const track = (request: Promise<unknown>) => this.#track(request);
    this.#context = {
      store: target,
      clock,
      settings: settings ?? RUNS,
      group: crypto.randomUUID(),
      watches: place === undefined,
      leaving: new ShortLivedMap(),
      ended: new ShortLivedMap((_, old) => old),
      track,
    };
    // Runs belong to the process, not to its handles, and with `keep` so do the blocks of fences.
    const own: readonly Capability[] = this.keeps ? ["runs", "fences"] : ["runs"];
    this.capabilities = (target.capabilities ?? []).filter((capability) => !own.includes(capability));
    if (target.evict !== undefined) this.evict = (name, options) => this.#evict(name, options);
    if (target.query !== undefined) this.query = (options) => this.#query(options);
    // With one fence for each grant there is nothing to hand on.
    this.#stopped = this.keeps && !target.capabilities?.includes("fences");
  }

  /** Whether it has stopped handing on. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Whether it hands locks on ahead of the waiters of other processes. */
  get keeps(): boolean {
    checkReceiver(#context in this);
    return this.#context.settings.keep > 0;
  }

  /** The names that several handles of this process want, or hold under a grant. */
  get names(): string[] {
    return [...this.#names.entries()].flatMap(([name, state]) => typeof state === "string" ? [] : [name]);
  }

  get closed(): boolean {
    return this.target.closed ?? false;
  }

  get connectionError(): Error | undefined {
    return this.target.connectionError;
  }

  get observer(): Observer | undefined {
    return this.target.observer;
  }

  get drift(): (lease: number) => number {
    checkReceiver(#context in this);
    return this.#drift;
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const leaving = this.#context.leaving.get(handleOf(claim));
    // A release that is retried must not release the lock that this attempt is granted.
    if (leaving !== undefined) return leaving.then(() => this.attempt(claim, options));
    if (options.steal) return this.#steal(claim, options);
    const state = this.#names.get(claim.name);
    if (state instanceof NameHandoff) return state.attempt(claim, options);
    if (!options.enqueue) return this.target.attempt(claim, options);
    if (state === undefined) {
      const plain = isPlain(claim);
      // Without `keep` only plain handles line up here.
      if (this.#stopped || !plain && !this.keeps) return this.target.attempt(claim, options);
      // To linger, the process itself must have the lock.
      if (!plain || this.#context.settings.linger === 0) {
        this.#names.set(claim.name, handleOf(claim));
        return this.target.attempt(claim, options);
      }
    }
    return this.#share(claim.name, state).attempt(claim, options);
  }

  renew(claim: Claim): Promise<Renewal> {
    const state = this.#names.get(claim.name);
    return state instanceof NameHandoff ? state.renew(claim) : this.target.renew(claim);
  }

  release(claim: Claim): Promise<boolean> {
    const id = handleOf(claim);
    const state = this.#names.get(claim.name);
    if (state === id) this.#names.delete(claim.name);
    const released = state instanceof NameHandoff ? state.release(claim) : this.target.release(claim);
    const ended = this.#context.ended.get(id);
    if (ended === undefined || ended.id === id) return released;
    // The store has the lock longer than it was trusted, under the id of the handle that it was granted to.
    return Promise.all([released, ended.lease.release()]).then((both) => both.includes(true));
  }

  /** Drops a handle that leaves the lock to its lease. If it holds the lock under a grant, the grant ends. */
  forget(claim: Claim): void {
    const state = this.#names.get(claim.name);
    if (state instanceof NameHandoff) state.forget(claim);
    else if (state === handleOf(claim)) this.#names.delete(claim.name);
    this.target.forget?.(claim);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const state = this.#names.get(claim.name);
    if (state instanceof NameHandoff) return state.wakeup(claim, signal);
    if (this.#stopped) return this.target.wakeup?.(claim, signal) ?? aborted(signal);
    // A handle that listens waits: from now on others line up behind it.
    return this.#share(claim.name, state).wakeup(claim, signal);
  }

  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    const state = this.#names.get(claim.name);
    const { target } = this;
    const revoked = state instanceof NameHandoff ? state.revocation(claim, signal) : target.revocation?.(claim, signal);
    return revoked ?? aborted(signal);
  }

  /**
   * Stops handing on, and gives back the locks that no handle holds. Resolves once the store has answered the requests
   * in the background, or in 5 s. Later calls go to the store directly.
   */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const [name, state] of [...this.#names.entries()]) {
      if (state instanceof NameHandoff) state.close();
      else this.#names.delete(name);
    }
    const settled = async () => {
      while (this.#requests.size > 0) await Promise.all(this.#requests);
    };
    // Locks that are not released by then end with their leases.
    await within(RELEASE_LIMIT_MS, settled(), this.#context.clock).catch(() => {});
  }

  /** Returns the shared state of the handles of a name, and creates it behind the handle that has been alone. */
  #share(name: string, direct?: string): NameHandoff {
    const shared = new NameHandoff(this.#context, direct, this.#long.delete(name), (direct, long) => {
      if (this.#names.get(name) !== shared) return;
      this.place.delete(name, shared);
      if (long) this.#long.set(name, true);
      if (direct === undefined) this.#names.delete(name);
      else this.#names.set(name, direct);
      if (--this.#shared > 0) return;
      this.#unsubscribe?.();
      this.#unsubscribe = undefined;
    });
    if (this.#shared++ === 0) this.#unsubscribe = this.target.onClosed?.(() => this.#wakeAll());
    if (this.#stopped) shared.close();
    this.#names.set(name, shared);
    this.place.add(name, shared);
    return shared;
  }

  /** Makes all waiters attempt again: they detect that the store was closed. */
  #wakeAll(): void {
    for (const state of this.#names.values()) if (state instanceof NameHandoff) state.wakeAll();
  }

  async #steal(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const state = this.#names.get(claim.name);
    if (state instanceof NameHandoff && state.drop(handleOf(claim))) return await state.attempt(claim, options);
    return await this.#revoke(claim.name, () => this.target.attempt(claim, options), ({ granted }) => granted);
  }

  async #evict(name: string, options?: EvictOptions): Promise<number> {
    const meant = checkEvict(options);
    const grants = this.place.sharing(name).flatMap((shared) => [...shared.grants.values()]);
    if (meant.handle === undefined && meant.fence === undefined) {
      return await this.#revoke(name, () => this.target.evict!(name, options), () => true);
    }
    for (const { id, fence, holding } of grants) {
      // A listing names the handle that holds the lock. The store has the lock under the id of the handle that it was
      // granted to.
      if (holding !== undefined && isMeant(meant, { handle: holding.handle.id, fence: holding.fence })) {
        const known = { handle: id, meta: options?.meta };
        return await this.#revoke(name, () => this.target.evict!(name, known), (evicted) => evicted > 0);
      }
      if (isMeant(meant, { handle: id, fence })) return 0;
    }
    return await this.target.evict!(name, options);
  }

  /** Stops handing a lock on, through any object of this process, while `request` revokes it. Settles like that. */
  async #revoke<T>(name: string, request: () => Promise<T>, succeeded: (reply: T) => boolean): Promise<T> {
    const grants = new Map(this.place.sharing(name).map((shared) => [shared, shared.revoke()]));
    let revoked = false;
    try {
      const reply = await request();
      revoked = succeeded(reply);
      return reply;
    } finally {
      // If the reply was lost, grants that came meanwhile may be revoked as well.
      for (const shared of new Set([...grants.keys(), ...this.place.sharing(name)])) {
        shared.revoked(revoked ? grants.get(shared) ?? [] : []);
      }
    }
  }

  async #query(options: QueryOptions = {}): Promise<Snapshot> {
    const snapshot = await this.target.query!(options);
    return withLocalHandles(snapshot, options, this.place.entries());
  }

  #track(request: Promise<unknown>): void {
    this.#requests.add(request);
    request.then(() => this.#requests.delete(request));
  }
}
