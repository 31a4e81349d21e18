import { aborted } from "./aborted.ts";
import type { Clock, Instant } from "./clock.ts";
import { isPlain } from "./cohort.ts";
import { type EvictTarget, isMeant } from "./eviction.ts";
import { ProcessLease } from "./process_lease.ts";
import { releaseWithRetry, within } from "./release.ts";
import { defaultInterval } from "./renewal_schedule.ts";
import { Run, RunWaiter } from "./run.ts";
import { withRuns } from "./run_listing.ts";
import { ShortLivedMap } from "./short_lived.ts";
import type { Observer } from "../events.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Capability,
  type Claim,
  type EvictOptions,
  type Granted,
  handleOf,
  type Meta,
  type QueryOptions,
  type Renewal,
  type Snapshot,
  type Store,
} from "../store.ts";

/** From so many runs on, those are looked for whose leases have ended. */
const PRUNE_FROM = 100;

/**
 * A store that hands a lock on from one handle to the next inside this process. It is made of a store that declares
 * `"runs"`: one that grants the lock together to handles that directly follow each other in its queue, a run. Each task
 * that wants the lock then costs one attempt, made while it waits, instead of three calls and a wake-up. Nobody is
 * overtaken. After Dice, Marathe and Shavit, "Lock Cohorting" (2012).
 *
 * All other calls go to the store as they are.
 */
export class Runs implements Store {
  readonly evict?: (name: string, options?: EvictOptions) => Promise<number>;
  readonly query?: (options?: QueryOptions) => Promise<Snapshot>;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #cohort = crypto.randomUUID();
  /** The handles that wait, by their ids. */
  readonly #waiters = new ShortLivedMap<string, RunWaiter>();
  /** The runs whose lock is held, by the id of the handle that holds it. */
  readonly #held = new ShortLivedMap<string, Run>();
  readonly #runs = new Set<Run>();
  /** How many attempts were sent. */
  #sent = 0;
  /** At how many runs they are looked through next. */
  #pruneAt = PRUNE_FROM;

  /** Makes a store that hands on the runs of the given one. */
  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    if (store.evict !== undefined) this.evict = (name, options) => store.evict!(name, options);
    if (store.query !== undefined) this.query = (options) => store.query!(options);
  }

  get capabilities(): readonly Capability[] | undefined {
    return this.#store.capabilities;
  }

  get closed(): boolean {
    return this.#store.closed ?? false;
  }

  get connectionError(): Error | undefined {
    return this.#store.connectionError;
  }

  get observer(): Observer | undefined {
    return this.#store.observer;
  }

  drift(lease: number): number {
    return this.#store.drift(lease);
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    if (options.steal) return this.#steal(claim, options);
    if (!options.enqueue || !isPlain(claim)) return this.#store.attempt(claim, options);
    const held = this.#held.get(handleOf(claim));
    if (held !== undefined) return this.#grantAgain(held, claim, options);
    const waiter = this.#waiters.get(handleOf(claim)) ?? this.#enter(claim);
    waiter.attempts();
    const { run } = waiter;
    if (run === undefined) return this.#ask(waiter, options);
    if (run.turn === waiter) return this.#handOn(run, waiter, options);
    return this.#stay(run, waiter, options);
  }

  renew(claim: Claim): Promise<Renewal> {
    const run = this.#held.get(handleOf(claim));
    if (run === undefined) return this.#hasHandedOn(claim) ? Promise.resolve("lost") : this.#store.renew(claim);
    return run.lease.renew(claim.lease).then((renewal) => {
      if (renewal === "lost") this.#end(run);
      return renewal;
    });
  }

  release(claim: Claim): Promise<boolean> {
    const handle = handleOf(claim);
    const waiter = this.#waiters.get(handle);
    if (waiter !== undefined) return this.#leave(waiter);
    const run = this.#held.get(handle);
    if (run === undefined) return this.#hasHandedOn(claim) ? Promise.resolve(false) : this.#store.release(claim);
    if (!run.lease.over && run.next()) {
      this.#held.delete(handle);
      return Promise.resolve(true);
    }
    // If this fails it is retried: until then it is the holder.
    return run.lease.release().then((released) => {
      this.#held.delete(handle);
      this.#runs.delete(run);
      return released;
    });
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const waiter = this.#waiters.get(handleOf(claim));
    const other = waiter?.run === undefined ? this.#store.wakeup?.(claim, signal) : undefined;
    return waiter?.sleep(other, signal) ?? other ?? aborted(signal);
  }

  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    const run = this.#held.get(handleOf(claim));
    const revoked = this.#store.revocation?.(run?.lease.claim ?? claim, signal) ?? aborted(signal);
    return revoked.then((by) => {
      if (run !== undefined && !signal.aborted) this.#end(run);
      return by;
    });
  }

  forget(claim: Claim): void {
    this.#store.forget?.(claim);
  }

  /** Stops handing on the lock of this name, because it was revoked. */
  end(name: string): void {
    for (const run of this.#runs) if (run.lease.claim.name === name) this.#end(run);
  }

  /**
   * Returns what the store is to evict: its handle in the place of the holder that this process lists, whose lock is not
   * handed on from this moment. `undefined` if the handle that is named has handed the lock on.
   */
  target(name: string, target: EvictTarget): EvictTarget | undefined {
    if (target.handle === undefined && target.fence === undefined) return target;
    for (const run of this.#runs) {
      const { lease: { claim }, holder, fence, firstFence } = run;
      if (claim.name !== name) continue;
      const handle = handleOf(claim);
      if (holder !== undefined && isMeant(target, { handle: handleOf(holder), fence })) {
        this.#end(run);
        return { ...target, handle, fence: firstFence };
      }
      if (isMeant(target, { handle, fence: firstFence })) return undefined;
    }
    return target;
  }

  /** Returns the snapshot with the handles of this process in the place of those that the store knows. */
  show(snapshot: Snapshot): Snapshot {
    return withRuns(snapshot, this.#runs);
  }

  #enter(claim: Claim): RunWaiter {
    const waiter = new RunWaiter({ ...claim, cohort: this.#cohort });
    this.#waiters.set(handleOf(claim), waiter);
    return waiter;
  }

  async #steal(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await this.#store.attempt(claim, options);
    if (attempt.granted) this.end(claim.name);
    return attempt;
  }

  /** Attempts at the store. */
  #ask(waiter: RunWaiter, options: AttemptOptions): Promise<Attempt> {
    const sentAt = this.#clock.now();
    waiter.since ??= sentAt;
    const number = waiter.asked = ++this.#sent;
    const answer = this.#store.attempt(waiter.claim, options).then((attempt) => {
      waiter.asking--;
      waiter.pausing = false;
      if (attempt.granted) this.#granted(waiter, attempt, sentAt, number);
      else if (waiter.run !== undefined) waiter.queued = true;
      return attempt;
    }, (error) => {
      waiter.asking--;
      waiter.failed = waiter.queued = waiter.pausing = true;
      throw error;
    });
    waiter.asking++;
    waiter.answered = answer;
    return answer;
  }

  #granted(waiter: RunWaiter, { fence, run, age }: Granted, sentAt: Instant, number: number): void {
    // The store has granted the lock anew, so it no longer has the lock of the run in which this handle was a member.
    if (waiter.run !== undefined) this.#end(waiter.run);
    const { settled } = waiter;
    this.#settle(waiter);
    const handle = handleOf(waiter.claim);
    const before = this.#held.get(handle);
    // An attempt was granted before, and the handle has released the lock since, or was handed it by another one.
    const stale = settled && (before === undefined || handleOf(before.lease.claim) !== handle);
    // Two of its attempts were granted: the fences of the first run are below that of the second grant.
    if (before !== undefined) this.#drop(before);
    if (run === undefined) return;
    const members = run.flatMap((id, i) => this.#waiters.get(id)?.join(fence + BigInt(i + 1), number) ?? []);
    if (members.length === 0) return;
    const lease = new ProcessLease(this.#store, waiter.claim, sentAt, this.#clock, age);
    const started = new Run(lease, fence, members, this.#clock.now());
    if (waiter.left || stale) return started.end();
    if (this.#runs.size >= this.#pruneAt) this.#prune();
    this.#runs.add(started);
    this.#held.set(handle, started);
  }

  /** Grants the lock again to the handle that has it: the first answer came too late for its lease. */
  async #grantAgain(run: Run, claim: Claim, options: AttemptOptions): Promise<Attempt> {
    if (await run.lease.renew(claim.lease) === "renewed") {
      return { granted: true, fence: run.fence, age: run.lease.age };
    }
    this.#drop(run);
    return await this.#ask(this.#waiters.get(handleOf(claim)) ?? this.#enter(claim), options);
  }

  /** Answers a member whose turn has not come. It is woken then. */
  #stay(run: Run, waiter: RunWaiter, options: AttemptOptions): Promise<Attempt> {
    const retryAfter = run.lease.endsIn();
    if (retryAfter > 0 && !this.#store.closed) return Promise.resolve({ granted: false, retryAfter });
    // Its holder may never release what has ended.
    this.#drop(run);
    return this.#ask(waiter, options);
  }

  /** Drops the runs whose holders never came back. */
  #prune(): void {
    for (const run of this.#runs) if (run.lease.hasEnded()) this.#drop(run);
    this.#pruneAt = Math.max(PRUNE_FROM, 2 * this.#runs.size);
  }

  /** Ends a run early, and leaves its lease to the handle that has it. */
  #drop(run: Run): void {
    this.#runs.delete(run);
    if (run.holder !== undefined) this.#held.delete(handleOf(run.holder));
    run.end();
  }

  /** Hands the lock on to the handle whose turn it is. */
  async #handOn(run: Run, waiter: RunWaiter, options: AttemptOptions): Promise<Attempt> {
    const { claim, fence } = waiter;
    if (this.#store.closed) this.#end(run);
    else if (!run.lease.isFresh(claim.lease)) {
      // After a fault nobody knows how long the lease is: nothing is handed on under it.
      const renewed = within(defaultInterval(claim.lease), run.lease.renew(claim.lease), this.#clock);
      const renewal = await renewed.catch(() => "unknown");
      if (renewal !== "renewed") this.#end(run);
    }
    // Another attempt of the same handle was answered while the renewal was on its way.
    if (this.#held.get(handleOf(claim)) === run) return this.#grantAgain(run, claim, options);
    if (run.turn !== waiter) return this.#ask(waiter, options);
    this.#settle(waiter);
    this.#forget(waiter);
    run.take(this.#clock.now());
    this.#held.set(handleOf(claim), run);
    return { granted: true, fence, age: run.lease.age };
  }

  /** Notes that a handle has stopped waiting, with or without the lock. */
  #settle(waiter: RunWaiter): void {
    this.#waiters.delete(handleOf(waiter.claim));
    waiter.settled = true;
    if (!waiter.failed) return;
    // A reply was lost, and perhaps a run with it: then its members are no longer in the queue and must attempt again.
    for (const other of this.#waiters.values()) {
      if (other.claim.name === waiter.claim.name && other.run === undefined) other.wake();
    }
  }

  /** Lets the store forget a member that was handed the lock or has stopped waiting. */
  #forget({ claim, queued, asking, answered }: RunWaiter): void {
    if (!queued && asking === 0) return this.#store.forget?.(claim);
    // An attempt that it made as a member has put it into the queue, or will do so.
    const release = () => releaseWithRetry(this.#store, claim, this.#clock);
    answered.then(release, release).catch(() => {});
  }

  #hasHandedOn(claim: Claim): boolean {
    for (const run of this.#runs) if (run.hasHandedOn(claim)) return true;
    return false;
  }

  /** Removes a handle that has stopped waiting. Resolves to whether there was anything to release. */
  #leave(waiter: RunWaiter): Promise<boolean> {
    waiter.left = true;
    this.#settle(waiter);
    const { claim, run } = waiter;
    if (run === undefined) return this.#store.release(claim);
    this.#forget(waiter);
    if (run.turn !== waiter) {
      run.remove(waiter);
    } else if (!run.next()) {
      this.#runs.delete(run);
      return run.lease.abandon();
    }
    return Promise.resolve(true);
  }

  /** Ends a run early. */
  #end(run: Run): void {
    run.end();
    // The holder releases the lease. Without a holder that is done here.
    if (run.holder !== undefined) return;
    this.#runs.delete(run);
    // Its members ask first, so that they are in the queue when it is served.
    this.#clock.sleep(0).then(() => run.lease.abandon());
  }
}
