import { aborted } from "../time/aborted.ts";
import type { Clock } from "../time/clock.ts";
import { isPlain } from "./group.ts";
import { checkEvict, isMeant } from "../listing/eviction.ts";
import { RELEASE_LIMIT_MS, within } from "../lease/release.ts";
import { ShortLivedMap, ShortLivedSet } from "../process/short_lived.ts";
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
import { withLocalHandles } from "./listing.ts";
import { NameHandoff } from "./name_handoff.ts";
import type { HandoffContext, HandoffSettings, HandoffTarget } from "./context.ts";

/** Hands on what a store grants in runs, in the order of its queue. */
const RUNS: HandoffSettings = { keep: 0, linger: 0 };

/**
 * A store that hands a lock on from one handle to the next inside this process: each handle then costs less than an attempt,
 * a wake-up and a release. After Dice, Marathe and Shavit, "Lock Cohorting" (2012). The state of one name is in a
 * {@linkcode NameHandoff}.
 *
 * A handle whose name no other one here wants goes straight to the store: nothing is kept of it but its id.
 */
export class HandoffStore<Target extends HandoffTarget = HandoffTarget> implements Store {
  /** Where the locks are kept. */
  readonly target: Target;
  readonly capabilities: readonly Capability[];
  readonly evict?: (name: string, options?: EvictOptions) => Promise<number>;
  readonly query?: (options?: QueryOptions) => Promise<Snapshot>;
  /** By name: the id of the only handle, or what several share. Of the handles some may have been left without a release. */
  readonly #names = new ShortLivedMap<string, string | NameHandoff>((state, old) => {
    if (state instanceof NameHandoff) state.prune(this.#context.clock.now());
    return old && typeof state === "string";
  });
  /** The names whose sections lasted as long as `keep` when handles last shared the lock, the oldest first. */
  readonly #long = new ShortLivedMap<string, true>((_, old) => old);
  /** The work in the background, for which no caller waits. */
  readonly #requests = new ShortLivedSet<Promise<unknown>>();
  /** All that hand on the locks of the target, this one too: a revocation concerns them all. */
  readonly #peers: Set<HandoffStore>;
  readonly #context: HandoffContext;
  /** Whether it has stopped handing on. */
  #stopped = false;
  /** How many names several handles want, and what ends the wait for the end of the store meanwhile. */
  #shared = 0;
  #unsubscribe: (() => void) | undefined;

  /** Hands on the locks of a store. `peer` hands them on as well, with other settings. */
  constructor(target: Target, clock: Clock, settings?: HandoffSettings, peer?: HandoffStore) {
    this.target = target;
    const track = (request: Promise<unknown>) => this.#track(request);
    this.#context = {
      store: target,
      clock,
      settings: settings ?? RUNS,
      group: crypto.randomUUID(),
      watches: peer === undefined,
      leaving: new ShortLivedMap(),
      track,
    };
    this.#peers = peer === undefined ? new Set() : peer.#peers;
    this.#peers.add(this);
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
    return this.#context.settings.keep > 0;
  }

  /** The names that several handles of this process want, or hold under a grant. */
  get names(): string[] {
    return [...this.#names.entries()].flatMap(([name, state]) => state instanceof NameHandoff ? [name] : []);
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

  readonly drift = (lease: number): number => this.target.drift(lease);

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const leaving = this.#context.leaving.get(handleOf(claim));
    // The release, which may be retried, must not find what this attempt is granted.
    if (leaving !== undefined) return leaving.then(() => this.attempt(claim, options));
    if (options.steal) return this.#steal(claim, options);
    const state = this.#names.get(claim.name);
    if (state === undefined) {
      if (!isPlain(claim) || this.#stopped) return this.target.attempt(claim, options);
      if (this.#context.settings.linger === 0) {
        if (options.enqueue) this.#names.set(claim.name, handleOf(claim));
        return this.target.attempt(claim, options);
      }
      // To linger, the process itself must have the lock.
      return options.enqueue ? this.#share(claim.name).attempt(claim, options) : this.target.attempt(claim, options);
    }
    if (state instanceof NameHandoff) return state.attempt(claim, options);
    if (!options.enqueue) return this.target.attempt(claim, options);
    return this.#share(claim.name, state).attempt(claim, options);
  }

  renew(claim: Claim): Promise<Renewal> {
    const state = this.#names.get(claim.name);
    return state instanceof NameHandoff ? state.renew(claim) : this.target.renew(claim);
  }

  release(claim: Claim): Promise<boolean> {
    const state = this.#names.get(claim.name);
    if (state instanceof NameHandoff) return state.release(claim);
    if (state === handleOf(claim)) this.#names.delete(claim.name);
    return this.target.release(claim);
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
   * Stops handing on, and gives back what no handle holds. Resolves once the store has answered the requests in
   * the background, or in 5 s. Later calls go to the store as they are.
   */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#peers.delete(this);
    for (const [name, state] of [...this.#names.entries()]) {
      if (state instanceof NameHandoff) state.close();
      else this.#names.delete(name);
    }
    const settled = async () => {
      while (this.#requests.size > 0) await Promise.all(this.#requests);
    };
    await within(RELEASE_LIMIT_MS, settled(), this.#context.clock).catch(() => {});
  }

  /** Returns what the handles of a name share from now on, behind the one that has been alone. */
  #share(name: string, direct?: string): NameHandoff {
    const shared = new NameHandoff(this.#context, direct, this.#long.delete(name), (direct, long) => {
      if (this.#names.get(name) !== shared) return;
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
    return shared;
  }

  /** Makes all waiters attempt again: they find out that the store was closed. */
  #wakeAll(): void {
    for (const state of this.#names.values()) if (state instanceof NameHandoff) state.wakeAll();
  }

  async #steal(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const state = this.#names.get(claim.name);
    const shared = state instanceof NameHandoff ? state : undefined;
    const id = handleOf(claim);
    if (shared?.holds(id)) return await shared.attempt(claim, options);
    return await this.#revoke(claim.name, () => this.target.attempt(claim, options), ({ granted }) => {
      if (granted) shared?.drop(id);
      return granted;
    });
  }

  async #evict(name: string, options?: EvictOptions): Promise<number> {
    const meant = checkEvict(options);
    const grants = this.#sharing(name).flatMap((shared) => [...shared.grants.values()]);
    if (meant.handle === undefined && meant.fence === undefined) {
      return await this.#revoke(name, () => this.target.evict!(name, options), () => true);
    }
    for (const { id, fence, holding } of grants) {
      // What is listed is the handle that holds the lock; the store has it under the id that it was granted to.
      if (holding !== undefined && isMeant(meant, { handle: holding.handle.id, fence: holding.fence })) {
        const known = { handle: id, meta: options?.meta };
        return await this.#revoke(name, () => this.target.evict!(name, known), (evicted) => evicted > 0);
      }
      if (isMeant(meant, { handle: id, fence })) return 0;
    }
    return await this.target.evict!(name, options);
  }

  /** Returns what this process has of a name, wherever it hands the lock on. */
  #sharing(name: string): NameHandoff[] {
    return [...this.#peers].flatMap((peer) => {
      const state = peer.#names.get(name);
      return state instanceof NameHandoff ? [state] : [];
    });
  }

  /**
   * Stops handing a lock on, wherever this process does that, because a request to revoke it is sent. Settles like that
   * request; `succeeded` returns whether the lock was revoked.
   */
  async #revoke<T>(name: string, request: () => Promise<T>, succeeded: (reply: T) => boolean): Promise<T> {
    const grants = new Map(this.#sharing(name).map((shared) => [shared, shared.revoke()]));
    let revoked = false;
    try {
      const reply = await request();
      revoked = succeeded(reply);
      return reply;
    } finally {
      // If the reply was lost, what came meanwhile may be revoked as well.
      for (const shared of new Set([...grants.keys(), ...this.#sharing(name)])) {
        shared.revoked(revoked ? grants.get(shared) ?? [] : []);
      }
    }
  }

  async #query(options: QueryOptions = {}): Promise<Snapshot> {
    const snapshot = await this.target.query!(options);
    return withLocalHandles(snapshot, options, this.#names.entries());
  }

  #track(request: Promise<unknown>): void {
    this.#requests.add(request);
    request.then(() => this.#requests.delete(request));
  }
}
