import { elapsed, type Instant, type Timer } from "../time/clock.ts";
import { ShortLivedMap } from "../time/short_lived.ts";
import type { Attempt, Claim, Meta } from "../contract/store.ts";
import type { HandoffContext } from "./context.ts";
import type { Grant } from "./grant.ts";
import type { Handle } from "./handle.ts";
import { linger } from "./linger.ts";
import type { LocalQueue } from "./local_queue.ts";

/** How long the lock is reserved for the next handle until it attempts, in milliseconds: it needs a few microtasks. */
const CLAIM_MS = 100;

/**
 * Why a grant ends:
 *
 * - `released`: its holder releases the lock, and no other handle can have it. The caller sends the release.
 * - `expired`: its lease is over by the clock, because its holder did not renew it.
 * - `lost`: the store does not have the lock.
 * - `unclaimed`: no handle has the lock, or it is not known whether the store has it.
 */
export type GrantEnd = "released" | "expired" | "lost" | "unclaimed";

/**
 * The grants under which handles of this process have one lock: the grant that is handed on, and the grants that are
 * left to their holders. A lock is handed on, and a grant ends, in one synchronous step.
 */
export class LocalGrants {
  readonly #context: HandoffContext;
  readonly #queue: LocalQueue;
  readonly #unused: () => void;
  /** The grants, by the ids of the handles that hold the lock, or have released it without an answer. */
  readonly #held = new ShortLivedMap<string, Grant>();
  #current: Grant | undefined;
  /** How often this process has revoked the lock: a grant that was requested before is not handed on. */
  revocations = 0;
  #timer: Timer | undefined;

  /** Creates the object without a grant. `unused` is called when there is no grant, and no handle waits. */
  constructor(context: HandoffContext, queue: LocalQueue, unused: () => void) {
    this.#context = context;
    this.#queue = queue;
    this.#unused = unused;
  }

  /** The grant that is handed on. */
  get current(): Grant | undefined {
    return this.#current;
  }

  get byStoreId(): ReadonlyMap<string, Grant> {
    const all = this.#current === undefined ? this.held : [...this.held, this.#current];
    return new Map(all.map((grant) => [grant.id, grant]));
  }

  /** The grants under which handles hold the lock. */
  get held(): readonly Grant[] {
    return [...this.#held.values()];
  }

  /** Returns the grant under which a handle holds the lock, or has released it without an answer. */
  of(id: string): Grant | undefined {
    return this.#held.get(id);
  }

  /** Returns whether the store knows a handle as the holder although it has released the lock. */
  isHandedOn(id: string): boolean {
    if (this.#current?.id === id) return true;
    for (const grant of this.#held.values()) if (grant.id === id) return true;
    return false;
  }

  /** Returns the handle without a wait for which the lock is reserved, if it has this id. */
  tried(id: string): Handle | undefined {
    const phase = this.#current?.phase;
    return phase?.kind === "next" && phase.handle.id === id ? phase.handle : undefined;
  }

  /** Begins to hand a grant on, first to the members of its run. */
  share(grant: Grant, members: readonly Handle[]): void {
    grant.members = members;
    this.#current = grant;
  }

  /** Gives the lock to a handle that attempted at `calledAt`. */
  hold(grant: Grant, handle: Handle, calledAt: Instant, now: Instant): Attempt {
    const { watches } = this.#context;
    const { keeps } = this.#queue;
    this.#queue.delete(handle.id);
    this.#held.set(handle.id, grant);
    const isHandedOn = handle.id !== grant.id || grant.members.length > 0 || keeps && this.#queue.size > 0;
    if (watches && keeps) this.watchRevocation(grant, true);
    else if (isHandedOn) this.watchRevocation(grant, watches);
    const { fence } = grant.hold(handle, now);
    this.watch(now);
    return { granted: true, fence, age: grant.lease.ageAt(calledAt) };
  }

  /** Gives the lock to the next handle, or lets it linger. Returns false if it must go back. */
  handOn(grant: Grant, now = this.#context.clock.now()): boolean {
    const { settings: { keep, linger: lingers }, store, track } = this.#context;
    const queue = this.#queue;
    if (grant.lease.over || !grant.hasFences || queue.closed || store.closed) return false;
    if (queue.keeps && elapsed(grant.since, now) >= keep) return false;
    const next = queue.successor(grant, now);
    if (next !== undefined) {
      grant.offer(next, now);
      this.watch(now);
      return true;
    }
    if (!queue.keeps || lingers === 0 || queue.hasBarrier(now)) return false;
    const lingering = linger(this.#context, grant, now, () => {
      if (grant !== this.#current) return;
      this.end(grant, "unclaimed");
      this.tidy();
    });
    if (lingering !== undefined) track(lingering);
    return true;
  }

  /** Hands on a grant that no handle holds, or ends it; then resolves once the release was answered, or has failed. */
  handOnOrEnd(grant: Grant): Promise<void> {
    return this.handOn(grant) ? Promise.resolve() : this.end(grant, "unclaimed");
  }

  /** Hands on the lock that a handle releases at this moment. Returns false if it must go back. */
  handOnFrom(id: string, grant: Grant, now: Instant): boolean {
    const { holding } = grant;
    if (holding?.handle.id !== id) return false;
    holding.handle.state = "left";
    if (this.#queue.keeps && elapsed(holding.since, now) >= this.#context.settings.keep) {
      grant.long = this.#queue.long = true;
    }
    if (grant !== this.#current || grant.lease.trustedFor(now) <= 0 || !this.handOn(grant, now)) return false;
    this.#held.delete(id);
    return true;
  }

  /**
   * Ends a grant: its waiters ask again. Gives the lock back in the background unless its handle does. Then resolves
   * once the store has answered the release, or has failed to.
   */
  end(grant: Grant, reason: GrantEnd, by?: Meta): Promise<void> {
    const { holding, phase } = grant;
    // Only a release may be sent again: other handles may lead by then.
    if (phase.kind === "over" && reason !== "released") return Promise.resolve();
    if (holding !== undefined && (reason === "expired" || reason === "lost")) this.#ended(holding.handle.id, grant);
    if (reason === "lost") holding?.revoked?.(by);
    // A quorum that has lost the lock may still have it on some nodes. The handle that it was granted to releases it
    // itself.
    const givesBack = reason === "unclaimed" || reason === "lost" && holding?.handle.id !== grant.id;
    if (this.#current === grant) {
      this.#clear();
      if (!grant.long) this.#queue.long = false;
    }
    for (const handle of grant.end()) handle.wake();
    this.wakeLeaders();
    return givesBack ? this.#giveBack(grant) : Promise.resolve();
  }

  /** Removes a handle that has stopped waiting. A lock reserved for it is handed on, or goes back. */
  remove(handle: Handle, state: "left" | "gone"): Promise<void> | undefined {
    const grant = this.#current;
    const isNext = handle.state === "next";
    this.#queue.delete(handle.id);
    handle.state = state;
    handle.settles();
    if (grant !== undefined) grant.members = grant.members.filter((member) => member !== handle);
    return isNext ? this.handOnOrEnd(grant!) : undefined;
  }

  /** Removes a handle that steals the lock, or has no caller. It releases its grants itself. */
  drop(handle: Handle): void {
    this.remove(handle, "gone");
    this.wakeLeaders();
    this.tidy();
  }

  /** Stops handing on. The handle that holds the lock releases it; without a holder, the grant ends. */
  stop(): void {
    const grant = this.#current;
    if (grant === undefined) return;
    if (grant.holding === undefined) return void this.end(grant, "unclaimed");
    this.#clear();
    for (const member of grant.members) member.wake();
    grant.members = [];
    this.wakeLeaders();
  }

  /** Gives the lock back in the background. Resolves after the first try. */
  #giveBack({ lease }: Grant): Promise<void> {
    const { track } = this.#context;
    const released = lease.release().then(() => {}, () => track(lease.undo()));
    track(released);
    return released;
  }

  /** Ends the grant that is handed on if holders no longer trust its lease. */
  endExpired(now: Instant): void {
    if (this.#current !== undefined && this.#current.lease.trustedFor(now) <= 0) this.end(this.#current, "expired");
  }

  /** Gives the lock back if no handle has it, because a handle wants it that cannot have it from this process. */
  giveWay(): void {
    if (this.#current?.phase.kind === "lingering") this.end(this.#current, "unclaimed");
  }

  /** Drops a handle that has released the lock. */
  forget(id: string): void {
    this.#held.delete(id);
    this.tidy();
  }

  /** Drops grants whose leases have ended by the clock: they were not released, or the store has not answered. */
  forgetEnded(now: Instant): void {
    for (const [id, grant] of [...this.#held.entries()]) if (grant.lease.hasEnded(now)) this.#ended(id, grant);
    if (this.#current?.lease.hasEnded(now)) this.end(this.#current, "expired");
  }

  #ended(id: string, grant: Grant): void {
    this.#held.delete(id);
    this.#context.ended.set(id, grant);
  }

  /** Ends the use of this object if no handle needs it. Not during an attempt: its handle may be about to enter. */
  tidy(): void {
    if (this.#current !== undefined || this.#queue.size > 0) return;
    if (this.#held.size > 0) this.forgetEnded(this.#context.clock.now());
    if (this.#held.size > 0) return;
    this.#clear();
    this.#unused();
  }

  /** Wakes the handles that have become leaders, so that they ask. */
  wakeLeaders(): void {
    this.#queue.wakeLeaders(this.#context.clock.now(), this.#current !== undefined);
  }

  /** Watches for a revocation; unless the store is to be asked, only where watching costs no request. */
  watchRevocation(grant: Grant, asks: boolean): void {
    const { store } = this.#context;
    const watch = (claim: Claim, signal: AbortSignal) =>
      asks ? store.revocation?.(claim, signal) : store.revocationHeard?.(claim, signal);
    grant.watch(watch, (by) => {
      this.end(grant, "lost", by);
      this.tidy();
    });
  }

  watchOnce(now: Instant): void {
    if (this.#timer === undefined) this.watch(now);
  }

  watch(now: Instant): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#queue.size === 0) return;
    const { clock, settings: { keep } } = this.#context;
    const grant = this.#current;
    if (grant === undefined) return;
    const { phase } = grant;
    let ms = Infinity;
    if (phase.kind === "next" && phase.claiming === undefined) ms = CLAIM_MS - elapsed(phase.since, now);
    else if (phase.kind === "held") {
      ms = grant.lease.trustedFor(now);
      if (this.#queue.keeps && !this.#queue.long) ms = Math.min(ms, keep - elapsed(phase.since, now));
    }
    if (ms < Infinity) this.#timer = clock.timer(Math.max(1, ms), () => this.#check(), now, ms);
  }

  /** Finds the states that no attempt ends: a lease is over, a section is long, the next handle does not attempt. */
  #check(): void {
    this.#timer = undefined;
    const { clock, settings: { keep } } = this.#context;
    const now = clock.now();
    const grant = this.#current;
    if (grant === undefined) return;
    const { phase } = grant;
    if (grant.lease.trustedFor(now) <= 0) this.end(grant, "expired");
    else if (phase.kind === "next" && phase.claiming === undefined && elapsed(phase.since, now) >= CLAIM_MS) {
      phase.handle.state = "idle";
      void this.handOnOrEnd(grant);
    } else if (phase.kind === "held" && this.#queue.keeps && elapsed(phase.since, now) >= keep) {
      this.#queue.long = true;
      this.wakeLeaders();
    }
    this.watch(now);
    this.tidy();
  }

  #clear(): void {
    this.#current = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
