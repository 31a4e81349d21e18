import { calledOrAborted } from "../time/aborted.ts";
import { elapsed, type Instant, type Timer } from "../time/clock.ts";
import { isPlain } from "./group.ts";
import { releaseWithRetry, within } from "../lease/release.ts";
import { ShortLivedMap } from "../process/short_lived.ts";
import { StoreError } from "../../errors.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Claim,
  type Granted,
  handleOf,
  type Meta,
  type Renewal,
} from "../../store.ts";
import { ageOf, Grant } from "./grant.ts";
import { Handle } from "./handle.ts";
import { linger } from "./linger.ts";
import { LocalQueue } from "./local_queue.ts";
import type { HandoffContext } from "./context.ts";

/** The longest time between two attempts of a handle that waits without a request, in milliseconds. */
const RECHECK_MS = 1_000;

/** After so many milliseconds without a request a handle attempts, although another one keeps its place alive. */
const SLEEP_LIMIT_MS = 600_000;

/** After so many milliseconds without a request a handle whose caller is not heard of is removed. */
const FORGOTTEN_MS = 60_000;

/** When the attempts of two handles in a row have failed, the next one is sent after so many milliseconds. */
const FAULT_PAUSE_MS = 250;

/** How long a renewal for the next handle may take, in milliseconds; not longer than its lease. */
const RENEWAL_LIMIT_MS = 5_000;

/** How long the lock is kept for the next handle until that attempts, in milliseconds: it needs a few microtasks. */
const CLAIM_MS = 100;

/** How many fences are reserved for each millisecond of `keep`, and at most: what stores reserve. */
const FENCES_PER_MS = 1_000;
const MAX_FENCES = 10_000;

/** An attempt that was sent: its number, when, and how often this process had revoked the lock by then. */
interface HandoffRequest {
  readonly number: number;
  readonly at: Instant;
  readonly revocations: number;
}

/** An attempt that was not granted. */
type HandoffRefusal = Exclude<Attempt, Granted>;

/** The memory of a name that nobody uses: the id of its direct handle if that has not been heard of since, and whether sections are long. */
type Unused = (direct: string | undefined, long: boolean) => void;

/** The answer to a handle that waits without a request. */
const ASLEEP: HandoffRefusal = { granted: false, retryAfter: RECHECK_MS };

/**
 * The handles of this process that want one lock, in one queue, and the grant under which they have it in turn.
 *
 * Who is granted the lock, and who is the next, changes in one synchronous step: in the answer of the store, in a release,
 * or in the attempt of the handle for which the lock is kept. What comes after an `await` looks again.
 *
 * 1. Without `keep` each handle asks the store. A grant takes along those that follow directly in the store's queue, if the
 *    store grants runs.
 * 2. With `keep` only the first handle of the queue asks, the others sleep. It is granted a block of fences. While it is
 *    shorter ago than `keep` and fences are left, a release gives the lock to the next handle here.
 * 3. A handle that is not plain (shared, a permit, an owner) always asks, and nothing is handed past it. The first plain
 *    one behind it asks as well.
 * 4. When a section has lasted `keep`, all handles ask, until a grant ends in which none has. Who is handed the lock gives
 *    the place in the store's queue back.
 * 5. Of those in the store's queue only the first attempts from time to time, in the name of the others.
 */
export class NameHandoff {
  readonly #context: HandoffContext;
  /** The handles that wait, by their ids, in the order of their first attempts. */
  readonly #queue: LocalQueue;
  /** By the ids of their handles: the grants under which handles hold the lock, or have released it without an answer. */
  readonly #held = new ShortLivedMap<string, Grant>();
  /** The grant that is handed on. */
  #grant: Grant | undefined;
  /** How many attempts were sent. */
  #sent = 0;
  /** How often this process has revoked the lock. */
  #revocations = 0;
  /** The fault of the last attempt, when it came, and whether the attempts of several handles in a row have failed. */
  #fault: { readonly error: unknown; readonly at: Instant; readonly id: string; readonly several: boolean } | undefined;
  /** The timer of the next check. */
  #timer: Timer | undefined;
  /** Whether each handle is for itself from now on. */
  #closed = false;
  /** The id of the handle that was here before all others. It may hold the lock or wait for it. */
  #direct: string | undefined;
  readonly #unused: Unused;

  /**
   * Starts without handles, or behind one that was alone when it attempted: it went to the store without us.
   *
   * @param direct the id of that one
   * @param long whether sections lasted as long as `keep` when handles last shared the lock
   * @param unused is called when no handle waits here, and none holds the lock under a grant
   */
  constructor(context: HandoffContext, direct: string | undefined, long: boolean, unused: Unused) {
    this.#context = context;
    this.#direct = direct;
    this.#queue = new LocalQueue(long);
    this.#unused = unused;
  }

  /** The grants of this process, by the id under which the store knows the holder. */
  get grants(): ReadonlyMap<string, Grant> {
    const all = this.#grant === undefined ? [...this.#held.values()] : [...this.#held.values(), this.#grant];
    return new Map(all.map((grant) => [grant.id, grant]));
  }

  /** The handles that wait, in their order. */
  get waiting(): readonly Handle[] {
    return [...this.#queue.values()];
  }

  /** Returns whether a handle holds the lock under a grant. */
  holds(id: string): boolean {
    return this.#held.has(id);
  }

  /** Drops a waiter that has got the lock by itself. */
  drop(id: string): void {
    const handle = this.#queue.get(id);
    this.#queue.delete(id);
    if (handle !== undefined) handle.state = "holder";
  }

  /** Attempts for a handle. */
  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const now = this.#context.clock.now();
    if (this.#grant !== undefined && this.#leftOf(this.#grant, now) <= 0) this.#ended(this.#grant);
    const id = handleOf(claim);
    const held = this.#held.get(id);
    if (held !== undefined) return this.#again(held, claim, options);
    const known = this.#queue.get(id);
    if (known === undefined && !options.enqueue) return this.#try(claim, options, now);
    const handle = known ?? this.#enter(claim, now);
    return this.#proceed(handle, options, now, handle.attempts(now));
  }

  /** Renews for a handle. */
  renew(claim: Claim): Promise<Renewal> {
    const grant = this.#held.get(handleOf(claim));
    if (grant === undefined) {
      return this.#isHandedOn(handleOf(claim)) ? Promise.resolve("lost") : this.#context.store.renew(claim);
    }
    const { holding, lease } = grant;
    if (holding === undefined || lease.over) return Promise.resolve("lost");
    const { renewal = 0 } = claim;
    // One that was sent twice, and comes late.
    if (renewal < holding.renewal) return Promise.resolve("renewed");
    holding.renewal = renewal;
    return lease.renew(claim.lease).then((outcome) => {
      if (outcome === "lost") {
        this.#lost(grant);
        this.#tidy();
      } else this.#watch(this.#context.clock.now());
      return outcome;
    });
  }

  /** Releases for a handle: the lock, or its place in the queue. */
  release(claim: Claim): Promise<boolean> {
    const id = handleOf(claim);
    const grant = this.#held.get(id);
    if (grant !== undefined) return this.#release(grant, id);
    const handle = this.#queue.get(id) ?? this.#tried(id);
    if (handle !== undefined) return this.#leave(handle);
    if (this.#direct === id) this.#direct = undefined;
    this.#tidy();
    return this.#isHandedOn(id) ? Promise.resolve(false) : this.#context.store.release(claim);
  }

  /** Resolves when another attempt of a handle makes sense. */
  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context;
    const id = handleOf(claim);
    if (this.#held.has(id)) return Promise.resolve();
    const handle = this.#queue.get(id) ?? this.#enter(claim, clock.now(), "own");
    const inStore = handle.place !== "none" && store.wakeup !== undefined;
    return handle.listen(clock, signal, inStore ? () => store.wakeup!(handle.claim, signal) : undefined);
  }

  /** Resolves soon after the lock of a handle was revoked. */
  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> | undefined {
    const grant = this.#held.get(handleOf(claim));
    const holding = grant?.holding;
    if (grant === undefined || holding === undefined) return this.#context.store.revocation?.(claim, signal);
    this.#watchRevocation(grant);
    return calledOrAborted<Meta | undefined>(signal, (revoked) => void (holding.revoked = revoked));
  }

  /** Stops handing on because this process revokes the lock. Returns the grants under which handles hold it. */
  revoke(): readonly Grant[] {
    const grants = [...this.#held.values()];
    this.#revocations++;
    this.#detach();
    this.#tidy();
    return grants;
  }

  /** Notes that this process has revoked these grants. One that has come since may be revoked as well. */
  revoked(grants: readonly Grant[]): void {
    for (const grant of grants) if (grant.holding !== undefined) this.#lost(grant);
    this.revoke();
  }

  /** Ends all that is done for several handles together: from now on each is for itself. */
  close(): void {
    this.#closed = true;
    this.#detach();
    this.wakeAll();
    this.#tidy();
  }

  /** Makes all handles attempt again. */
  wakeAll(): void {
    for (const handle of this.#queue.values()) handle.wake("store");
  }

  /** Removes handles whose callers have not been heard of for long, with their places in the store's queue. */
  prune(now: Instant): void {
    for (const handle of [...this.#queue.values()]) {
      if (!handle.canLead(now) && handle.sentFor(now) > FORGOTTEN_MS) {
        this.#context.track(this.#leave(handle).catch(() => {}));
      }
    }
    for (const [id, { lease }] of [...this.#held.entries()]) if (lease.hasEnded(now)) this.#held.delete(id);
    this.#tidy();
  }

  /** Whether the process hands a grant on for `keep` milliseconds. */
  get #keeps(): boolean {
    return this.#context.settings.keep > 0 && !this.#closed;
  }

  /** Returns whether the store knows a handle as the holder although it has released the lock. */
  #isHandedOn(id: string): boolean {
    if (this.#grant?.id === id) return true;
    for (const grant of this.#held.values()) if (grant.id === id) return true;
    return false;
  }

  /** Adds a handle, which waits in the store's queue by now if `place` says so. */
  #enter(claim: Claim, now: Instant, place: Handle["place"] = "none"): Handle {
    const handle = new Handle(this.#asked(claim), now);
    handle.place = place;
    if (handle.id === this.#direct) {
      this.#direct = undefined;
      handle.place = "own";
      this.#queue.setFirst(handle.id, handle);
    } else this.#queue.set(handle.id, handle);
    if (!handle.plain) this.#giveWay();
    return handle;
  }

  /** Returns the claim that the store is asked for, so that other handles may follow. */
  #asked(claim: Claim): Claim {
    const { group, settings: { keep } } = this.#context;
    if (!isPlain(claim) || this.#closed) return claim;
    if (keep === 0) return { ...claim, group };
    return { ...claim, fences: Math.min(Math.ceil(keep * FENCES_PER_MS), MAX_FENCES) };
  }

  /** Gives the lock back if no handle has it: another one wants it that cannot have it from this process. */
  #giveWay(): void {
    if (this.#grant?.phase.kind === "lingering") this.#abandon(this.#grant);
  }

  /** Attempts for a handle that does not wait. It is not entered anywhere. */
  #try(claim: Claim, options: AttemptOptions, now: Instant): Promise<Attempt> {
    const grant = this.#grant;
    const handle = new Handle(claim, now);
    if (!this.#queue.canShare(handle)) this.#giveWay();
    else if (grant?.phase.kind === "lingering") {
      grant.offer(handle, now);
      return this.#claim(grant, handle, options, now);
    } else if (grant === undefined && this.#queue.size > 0 && !this.#queue.isKnown) return Promise.resolve(ASLEEP);
    this.#tidy();
    return this.#context.store.attempt(claim, options);
  }

  /** Returns the handle without a wait for which the lock is kept, if that has this id. */
  #tried(id: string): Handle | undefined {
    const phase = this.#grant?.phase;
    return phase?.kind === "next" && phase.handle.id === id ? phase.handle : undefined;
  }

  /** Grants a handle what is kept for it, asks the store for it, or leaves it asleep. */
  #proceed(handle: Handle, options: AttemptOptions, now: Instant, woken?: "here" | "store"): Promise<Attempt> {
    const grant = this.#grant;
    if (grant?.phase.kind === "lingering" && this.#queue.canShare(handle)) grant.offer(handle, now);
    if (grant?.isFor(handle)) return this.#claim(grant, handle, options, now);
    if (!options.enqueue) {
      this.#tidy();
      return this.#context.store.attempt(handle.claim, options);
    }
    if (this.#asks(handle, now, woken)) {
      const fault = this.#fault;
      if (!this.#keeps || !fault?.several || elapsed(fault.at, now) >= FAULT_PAUSE_MS) {
        return this.#ask(handle, options, now, woken !== "store");
      }
      // The store fails them all: they need not find out one by one.
      handle.pauses();
      return Promise.reject(fault.error);
    }
    if (this.#timer === undefined) this.#watch(now);
    return Promise.resolve(ASLEEP);
  }

  /** Returns whether a handle is to ask the store now. */
  #asks(handle: Handle, now: Instant, woken?: "here" | "store"): boolean {
    if (this.#context.store.closed) return true;
    // The store keeps its place: it asks when that wakes it, or the place would be lost.
    if (handle.place !== "none" && woken === "store") return true;
    if (this.#grant?.members.includes(handle)) return false;
    if (handle.place !== "none") {
      if (handle.place === "own" || handle.sentFor(now) >= SLEEP_LIMIT_MS) return true;
      return this.#queue.polls(handle, now);
    }
    return !this.#keeps || !this.#queue.canShare(handle) || this.#queue.leads(handle, now, this.#grant !== undefined);
  }

  /** Ends the use of this object if nobody needs it. Not for an attempt that goes on: its handle may be about to enter. */
  #tidy(): void {
    if (this.#grant !== undefined || this.#held.size > 0 || this.#queue.size > 0) return;
    this.#clear();
    this.#unused(this.#direct, this.#queue.long);
  }

  /** Wakes the handles that have become the first ones: they ask. */
  #advance(): void {
    if (!this.#keeps) return;
    const leaders = this.#queue.leaders(this.#context.clock.now(), this.#grant !== undefined);
    for (const handle of leaders) if (handle.state === "sleeping") handle.wake();
  }

  /** Asks the store for a handle. One that polls, because nothing has woken it, names the others that sleep. */
  #ask(handle: Handle, options: AttemptOptions, now: Instant, polls: boolean): Promise<Attempt> {
    const alive = polls && handle.place !== "none" && this.#queue.polls(handle, now)
      ? this.#queue.sleepers(handle)
      : [];
    const sent = this.#context.store.attempt(handle.claim, alive.length === 0 ? options : { ...options, alive });
    const request = { number: ++this.#sent, at: now, revocations: this.#revocations };
    const answer = handle.sends(now, sent);
    if (this.#queue.long) this.#advance();
    return answer.then((attempt) => {
      handle.unanswered--;
      handle.answeredAt = this.#sent;
      this.#fault = undefined;
      const answeredAt = this.#context.clock.now();
      this.#queue.tripMs = elapsed(now, answeredAt);
      if (!attempt.granted) return this.#refused(handle, attempt, options, answeredAt);
      const granted = this.#granted(handle, attempt, request, answeredAt);
      this.#tidy();
      return granted;
    }, (error) => {
      handle.unanswered--;
      handle.answeredAt = this.#sent;
      const before = this.#fault;
      const several = before !== undefined && (before.several || before.id !== handle.id);
      this.#fault = { error, at: this.#context.clock.now(), id: handle.id, several };
      this.#failed(handle, error);
      throw error;
    });
  }

  #refused(
    handle: Handle,
    refusal: HandoffRefusal,
    options: AttemptOptions,
    now: Instant,
  ): HandoffRefusal | Promise<Attempt> {
    if ("conflict" in refusal) {
      this.#queue.delete(handle.id);
      this.#advance();
      this.#tidy();
      return refusal;
    }
    switch (handle.state) {
      case "asking":
      case "idle":
        if (handle.unanswered === 0) handle.state = "queued";
        handle.place = refusal.maySleep ? "shared" : "own";
        return refusal;
      case "next":
        handle.place = "own";
        return this.#claim(this.#grant!, handle, options, now);
      case "sleeping":
      case "queued":
        handle.place = "own";
        return refusal;
      case "left":
        // Its release may have been executed before this attempt.
        this.#leaveStore(handle);
        return refusal;
      default:
        return refusal;
    }
  }

  #failed(handle: Handle, error: unknown): void {
    const before = handle.state;
    const mayBeQueued = !(error instanceof StoreError);
    if (mayBeQueued) handle.place = "own";
    if (handle.waits && handle.unanswered === 0) handle.pauses();
    if (before === "next") this.#passOn(this.#grant!);
    // A reply may be lost, and with it a run: its members are no longer in the store's queue.
    if (!this.#keeps && mayBeQueued) {
      for (const other of this.#queue.values()) if (other.state === "queued") other.wake("store");
    }
    this.#advance();
  }

  /** Notes a grant of the store, whatever the handle has done meanwhile. */
  #granted(handle: Handle, granted: Granted, sent: HandoffRequest, now: Instant): Attempt {
    const grant = new Grant(this.#context, handle.claim, granted, sent.at, now);
    const run = this.#membersOf(granted, sent.number);
    const held = this.#held.get(handle.id);
    if (handle.state === "left") {
      // Another handle may have the lock under this id. Otherwise it was granted after the release.
      if (!this.#isHandedOn(handle.id)) this.#context.track(grant.lease.undo());
      wake(run);
      return granted;
    }
    if (held?.holding !== undefined && held.id === handle.id) {
      // An attempt was granted before. Its members would have fences below the one that the caller gets now.
      wake(held.members);
      held.adopt(granted, held.holding);
      held.members = this.#grant === held ? run : [];
      return granted;
    }
    const { claim: { lease } } = handle;
    if (grant.lease.age >= lease - this.#context.store.drift(lease)) {
      // Too late: its caller pauses, and attempts again under the same id. So nobody else may have the lock under that.
      handle.state = "idle";
      // The store has the lock for it, until it is released.
      handle.place = "own";
      wake(run);
      this.#advance();
      return granted;
    }
    // The store has granted the lock past the grant that is handed on: that is over there.
    if (held !== undefined) this.#lost(held);
    if (this.#grant !== undefined) this.#lost(this.#grant);
    const shares = handle.plain && !this.#closed && (this.#keeps || run.length > 0 || handle.unanswered > 0);
    if (!shares) {
      this.#queue.delete(handle.id);
      handle.state = "holder";
      wake(run);
      this.#advance();
      return granted;
    }
    if (sent.revocations === this.#revocations) {
      grant.members = run;
      this.#grant = grant;
    } else wake(run); // It may be revoked by now. If so, the handle finds out like every other holder.
    return this.#hold(grant, handle, sent.at, now);
  }

  /** Returns the handles of a run that can be handed the lock. They are no longer in the store's queue. */
  #membersOf({ run = [] }: Granted, number: number): Handle[] {
    return run.flatMap((id) => {
      const member = this.#queue.get(id);
      if (member === undefined) return [];
      // An attempt that was on its way when the lock was granted, or still is, may put it into the queue again.
      member.place = member.unanswered > 0 || member.answeredAt >= number ? "own" : "none";
      if (member.state === "queued") member.state = "sleeping";
      return member.state === "idle" || member.state === "next" ? [] : [member];
    });
  }

  /** Grants the lock to the handle for which it is kept, after a renewal if the lease is not fresh. */
  #claim(grant: Grant, handle: Handle, options: AttemptOptions, now: Instant): Promise<Attempt> {
    const { claim: { lease } } = handle;
    const { phase } = grant;
    if (phase.kind !== "next") return Promise.resolve(ASLEEP);
    if (phase.claiming !== undefined) return phase.claiming;
    if (grant.lease.isFresh(lease, now)) return Promise.resolve(this.#hold(grant, handle, now, now));
    const settle = (outcome: Renewal | "unknown"): Attempt | Promise<Attempt> => {
      const answeredAt = this.#context.clock.now();
      if (outcome === "lost") this.#lost(grant);
      else if (outcome === "unknown") this.#abandon(grant);
      else if (grant === this.#grant && grant.isFor(handle)) {
        if (grant.lease.age < lease - this.#context.store.drift(lease)) {
          return this.#hold(grant, handle, now, answeredAt);
        }
        handle.state = "idle";
        this.#passOn(grant);
        throw new Error(`the answer to a renewal took longer than the lease of ${lease} ms`);
      }
      return handle.waits ? this.#proceed(handle, options, answeredAt) : ASLEEP;
    };
    const renewal = within(Math.min(lease, RENEWAL_LIMIT_MS), grant.lease.renew(lease), this.#context.clock);
    // When this process revokes the lock, the answer does not matter, and may never come.
    const over = new Promise<"unknown">((resolve) => phase.cancel = () => resolve("unknown"));
    return phase.claiming = Promise.race([renewal, over]).then(settle, () => settle("unknown"));
  }

  /** Gives the lock to a handle, whose attempt was made at `calledAt`. */
  #hold(grant: Grant, handle: Handle, calledAt: Instant, now: Instant): Attempt {
    const { store } = this.#context;
    this.#queue.delete(handle.id);
    this.#held.set(handle.id, grant);
    if (this.#context.watches && this.#keeps) this.#watchRevocation(grant);
    const { fence } = grant.hold(handle, now);
    if (handle.id !== grant.id) {
      if (handle.place === "none" && handle.unanswered === 0) store.forget?.(handle.claim);
      else this.#leaveStore(handle);
    }
    this.#watch(now);
    return { granted: true, fence, age: ageOf(grant, calledAt) };
  }

  /** Gives the place of a handle in the store's queue back, in the background. */
  #leaveStore(handle: Handle): void {
    const { store, clock, track, leaving } = this.#context;
    const release = () => releaseWithRetry(store, handle.claim, clock);
    const left = handle.answered().then(release).catch(() => {}).then(() => void leaving.delete(handle.id));
    leaving.set(handle.id, left);
    track(left);
  }

  /** Grants the lock again to a handle that holds it: a reply was lost on its way to the caller. */
  async #again(grant: Grant, claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const { holding, lease } = grant;
    if (holding !== undefined && !lease.over) {
      const calledAt = this.#context.clock.now();
      // Never shorter: the first attempt may have been answered.
      const renewal = await lease.renew(Math.max(claim.lease, Math.ceil(lease.endsIn(calledAt))));
      if (renewal === "renewed" && grant.holding?.handle === holding.handle) {
        return { granted: true, fence: grant.holding.fence, age: ageOf(grant, calledAt) };
      }
      if (renewal === "lost") this.#lost(grant);
    }
    this.#tidy();
    return await this.#context.store.attempt(claim, options);
  }

  /** Releases for a handle that holds the lock under a grant: the lock goes to the next one, lingers or goes back. */
  #release(grant: Grant, id: string): Promise<boolean> {
    const { clock, settings: { keep } } = this.#context;
    const { holding } = grant;
    const now = clock.now();
    if (holding?.handle.id === id) {
      holding.handle.state = "left";
      if (this.#keeps && elapsed(holding.since, now) >= keep) grant.long = this.#queue.long = true;
      if (grant === this.#grant && this.#leftOf(grant, now) > 0 && this.#pass(grant, now)) {
        this.#held.delete(id);
        return Promise.resolve(true);
      }
    }
    this.#end(grant);
    // Until the store has answered, the handle may release again.
    return grant.lease.release().then((released) => {
      this.#forget(id);
      return released;
    }, (error) => {
      // The caller does not retry for ever.
      if (!grant.abandoned) this.#context.track(grant.lease.undo().then(() => this.#forget(id)));
      grant.abandoned = true;
      throw error;
    });
  }

  /** Forgets a handle that has released the lock. */
  #forget(id: string): void {
    this.#held.delete(id);
    this.#tidy();
  }

  /** Gives the lock to the next handle, or keeps it for a while. Returns false if it must go back. */
  #pass(grant: Grant, now: Instant): boolean {
    const { settings: { keep, linger: lingers } } = this.#context;
    if (grant.lease.over || !grant.hasFences || this.#closed || this.#context.store.closed) return false;
    if (this.#keeps && elapsed(grant.since, now) >= keep) return false;
    const next = this.#successor(grant, now);
    if (next !== undefined) {
      grant.offer(next, now);
      this.#watch(now);
      return true;
    }
    if (!this.#keeps || lingers === 0) return false;
    if (this.#queue.hasBarrier) return false;
    const lingering = linger(this.#context, grant, now, (end) => {
      if (grant !== this.#grant) return;
      if (end === "lost") this.#lost(grant);
      else this.#abandon(grant);
      this.#tidy();
    });
    if (lingering !== undefined) this.#context.track(lingering);
    return true;
  }

  /** Returns the handle that is handed the lock next, if there is one. */
  #successor(grant: Grant, now: Instant): Handle | undefined {
    if (!this.#keeps) {
      const members = grant.members.filter((member) => this.#queue.mayLead(member, now));
      grant.members = members.slice(1);
      return members[0];
    }
    return this.#queue.first(now);
  }

  /** Hands on a grant that no handle holds; if nobody wants it, it goes back in the background. */
  #passOn(grant: Grant): Promise<void> {
    return this.#pass(grant, this.#context.clock.now()) ? Promise.resolve() : this.#abandon(grant);
  }

  /** Removes a handle that has stopped waiting. Resolves to whether there was anything to release. */
  #leave(handle: Handle): Promise<boolean> {
    const { store } = this.#context;
    const { claim, state, place, unanswered } = handle;
    this.#queue.delete(handle.id);
    handle.state = "left";
    const grant = this.#grant;
    if (grant !== undefined) grant.members = grant.members.filter((member) => member !== handle);
    const passed = state === "next" ? this.#passOn(grant!) : undefined;
    let released = Promise.resolve(true);
    if (place === "none" && unanswered === 0) store.forget?.(claim);
    else {
      const succeeded = unanswered === 0 && this.#succeed(handle);
      released = store.release(claim).then((released) => released || succeeded);
    }
    this.#advance();
    this.#tidy();
    return Promise.all([released, passed]).then(([released]) => released);
  }

  /** Gives the place of a handle in the store's queue to the next one here, if that has none. Returns whether it did. */
  #succeed({ claim }: Handle): boolean {
    const { store, track } = this.#context;
    if (!this.#keeps || this.#grant !== undefined || store.succeed === undefined) return false;
    const heir = this.#queue.first(this.#context.clock.now());
    // One that has asked has a place of its own.
    if (heir?.state !== "sleeping" || heir.place !== "none") return false;
    const given = () => {
      // Its release may have been executed before. If it was granted the lock, others may have that under its id.
      if (heir.state === "left" && !this.#isHandedOn(heir.id)) this.#leaveStore(heir);
    };
    track(store.succeed(claim, heir.claim).then(given, given));
    heir.place = "own";
    heir.wake("store");
    return true;
  }

  /** Ends a grant: whoever waits for it asks anew. */
  #end(grant: Grant): void {
    if (this.#grant === grant) {
      this.#clear();
      if (!grant.long) this.#queue.long = false;
    }
    wake(grant.end());
    this.#advance();
  }

  /** Ends a grant, and gives the lock back in the background, because no handle holds it, or it is not known. */
  #abandon(grant: Grant): Promise<void> {
    if (grant.phase.kind === "over") return Promise.resolve();
    this.#end(grant);
    const { track } = this.#context;
    // Only the first try is waited for.
    const released = grant.lease.release().then(() => {}, () => track(grant.lease.undo()));
    track(released);
    return released;
  }

  #watchRevocation(grant: Grant): void {
    grant.watch(this.#context.store, (by) => {
      this.#lost(grant, by);
      this.#tidy();
    });
  }

  /** Notes that the store does not have the lock of a grant. */
  #lost(grant: Grant, by?: Meta): void {
    const { holding } = grant;
    if (holding !== undefined) {
      this.#held.delete(holding.handle.id);
      holding.revoked?.(by);
    }
    // A quorum that has lost it may have it on some nodes. The handle that it was granted to releases it by itself.
    if (holding?.handle.id === grant.id) this.#end(grant);
    else void this.#abandon(grant);
  }

  /** Notes that the lease of a grant is over by the clock: its holder did not renew it. */
  #ended(grant: Grant): void {
    if (grant.holding !== undefined) this.#held.delete(grant.holding.handle.id);
    this.#end(grant);
  }

  /** Forgets what could be handed on. */
  #clear(): void {
    this.#grant = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Stops handing on. The handle that holds the lock gives it back; if there is none, that is done here. */
  #detach(): void {
    const grant = this.#grant;
    if (grant === undefined) return;
    if (grant.holding === undefined) return void this.#abandon(grant);
    this.#clear();
    wake(grant.members);
    grant.members = [];
    this.#advance();
  }

  /**
   * Returns for how long holders trust the lease of a grant, in milliseconds. It ends later in the store: those that wait
   * for it here queue there again before others are served.
   */
  #leftOf({ lease }: Grant, now: Instant): number {
    return lease.endsIn(now) - this.#context.store.drift(lease.claim.lease);
  }

  /** Sets the one timer, if anybody waits for what it finds out. */
  #watch(now: Instant): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#queue.size === 0) return;
    const { clock, settings: { keep } } = this.#context;
    const grant = this.#grant;
    if (grant === undefined) return;
    const { phase } = grant;
    let ms = Infinity;
    if (phase.kind === "next" && phase.claiming === undefined) ms = CLAIM_MS - elapsed(phase.since, now);
    else if (phase.kind === "held") {
      ms = this.#leftOf(grant, now);
      if (this.#keeps && !this.#queue.long) ms = Math.min(ms, keep - elapsed(phase.since, now));
    }
    if (ms < Infinity) this.#timer = clock.timer(Math.max(1, ms), () => this.#check(), now);
  }

  /** Looks for what nobody attempts for: a lease is over, a section or a wait is long, the next handle does not attempt. */
  #check(): void {
    this.#timer = undefined;
    const { clock, settings: { keep } } = this.#context;
    const now = clock.now();
    const grant = this.#grant;
    if (grant === undefined) return;
    const { phase } = grant;
    if (this.#leftOf(grant, now) <= 0) this.#ended(grant);
    else if (phase.kind === "next" && phase.claiming === undefined && elapsed(phase.since, now) >= CLAIM_MS) {
      phase.handle.state = "idle";
      void this.#passOn(grant);
    } else if (phase.kind === "held" && this.#keeps && elapsed(phase.since, now) >= keep) {
      grant.long = this.#queue.long = true;
      this.#advance();
    }
    this.#watch(now);
    this.#tidy();
  }
}

function wake(handles: Iterable<Handle>): void {
  for (const handle of handles) handle.wake();
}
