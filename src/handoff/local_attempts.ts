import { elapsed, type Instant } from "../time/clock.ts";
import { withFollowers } from "../rules/group.ts";
import { within } from "../contract/release.ts";
import { StoreError } from "../contract/errors.ts";
import type { Attempt, AttemptOptions, Claim, Granted, Renewal } from "../contract/store.ts";
import type { HandoffContext } from "./context.ts";
import { Grant } from "./grant.ts";
import { Handle } from "./handle.ts";
import type { LocalGrants } from "./local_grants.ts";
import type { LocalQueue } from "./local_queue.ts";

/** The longest time between two attempts of a handle that waits without a request, in milliseconds. */
const RECHECK_MS = 1_000;

/** The pause after the attempts of two handles in a row have failed, in milliseconds. */
const FAULT_PAUSE_MS = 250;

/** How long a renewal for the next handle may take, in milliseconds; at most its lease. */
const RENEWAL_LIMIT_MS = 5_000;

/** An attempt that was sent: its number, its time, and how often this process had revoked the lock by then. */
interface HandoffRequest {
  readonly number: number;
  readonly at: Instant;
  readonly revocations: number;
}

type HandoffRefusal = Exclude<Attempt, Granted>;

/** The answer to a handle that waits without a request. */
const ASLEEP: HandoffRefusal = { granted: false, retryAfter: RECHECK_MS };

/** The attempts of the handles of one name: which attempts are sent to the store, and how its answers are used. */
export class LocalAttempts {
  readonly #context: HandoffContext;
  readonly #queue: LocalQueue;
  readonly #grants: LocalGrants;
  #sent = 0;
  /** The fault of the last attempt, its time, and whether the attempts of several handles in a row have failed. */
  #fault: { readonly error: unknown; readonly at: Instant; readonly id: string; readonly several: boolean } | undefined;

  constructor(context: HandoffContext, queue: LocalQueue, grants: LocalGrants) {
    this.#context = context;
    this.#queue = queue;
    this.#grants = grants;
  }

  /** Adds a handle; `place` says whether it may wait in the store's queue already. */
  enter(claim: Claim, now: Instant, place?: Handle["place"]): Handle {
    const { group, ended, settings: { keep } } = this.#context;
    const handle = new Handle(this.#queue.closed ? claim : withFollowers(claim, group, keep), now);
    handle.place = place ?? (ended.delete(handle.id) ? "own" : "none");
    this.#queue.enter(handle);
    if (!handle.plain) this.#grants.giveWay();
    return handle;
  }

  /** Attempts for a handle that does not wait. The handle is not added to the queue. */
  try(claim: Claim, options: AttemptOptions, now: Instant): Promise<Attempt> {
    const grant = this.#grants.current;
    const handle = new Handle(claim, now);
    const tried = this.#grants.tried(handle.id);
    if (tried !== undefined) return this.#claim(grant!, tried, options, now);
    if (!this.#queue.canShare(handle)) this.#grants.giveWay();
    else if (grant?.phase.kind === "lingering") {
      grant.offer(handle, now);
      return this.#claim(grant, handle, options, now);
    } else if (grant === undefined && !this.#queue.isKnown) return Promise.resolve(ASLEEP);
    this.#grants.tidy();
    return this.#context.store.attempt(claim, options);
  }

  /** Grants a handle the lock reserved for it, asks the store for the lock, or leaves the handle asleep. */
  proceed(handle: Handle, options: AttemptOptions, now: Instant, woken?: "here" | "store"): Promise<Attempt> {
    const grant = this.#grants.current;
    if (grant?.phase.kind === "lingering" && this.#queue.canShare(handle)) grant.offer(handle, now);
    if (grant?.isFor(handle)) return this.#claim(grant, handle, options, now);
    if (!options.enqueue) {
      this.#grants.tidy();
      return this.#context.store.attempt(handle.claim, options);
    }
    if (this.#context.store.closed || this.#queue.asks(handle, now, woken, grant)) {
      const fault = this.#fault;
      if (!this.#queue.keeps || !fault?.several || elapsed(fault.at, now) >= FAULT_PAUSE_MS) {
        return this.#ask(handle, options, now, woken !== "store");
      }
      // All attempts fail at present: the handles need not find out one by one.
      handle.pauses();
      return Promise.reject(fault.error);
    }
    this.#grants.watchOnce(now);
    return Promise.resolve(ASLEEP);
  }

  /** Asks the store for a handle. A handle that polls, without a wake-up, names the sleeping handles. */
  #ask(handle: Handle, options: AttemptOptions, now: Instant, polls: boolean): Promise<Attempt> {
    const alive = polls && handle.place !== "none" && this.#queue.polls(handle, now)
      ? this.#queue.sleepers(handle)
      : [];
    const sent = this.#context.store.attempt(handle.claim, alive.length === 0 ? options : { ...options, alive });
    const request = { number: ++this.#sent, at: now, revocations: this.#grants.revocations };
    const answer = handle.sends(now, sent);
    handle.unheard(this.#context.clock, () => this.#grants.drop(handle), now);
    if (this.#queue.long) this.#grants.wakeLeaders();
    return answer.then((attempt) => {
      handle.answers(this.#sent);
      this.#fault = undefined;
      const answeredAt = this.#context.clock.now();
      const before = this.#queue.tripMs;
      this.#queue.tripMs = elapsed(now, answeredAt);
      const outcome = attempt.granted
        ? this.#granted(handle, attempt, request, answeredAt)
        : this.#refused(handle, attempt, options, answeredAt);
      // After a longer trip fewer handles can be handed the lock.
      if (this.#queue.tripMs > before) this.#grants.wakeLeaders();
      if (attempt.granted) this.#grants.tidy();
      return outcome;
    }, (error) => {
      handle.answers(this.#sent);
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
      this.#grants.wakeLeaders();
      this.#grants.tidy();
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
        return this.#claim(this.#grants.current!, handle, options, now);
      case "sleeping":
      case "queued":
        handle.place = "own";
        return refusal;
      case "left":
        // Its release may have been executed before this attempt.
        handle.leaveStore(this.#context);
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
    if (before === "next") this.#grants.handOnOrEnd(this.#grants.current!);
    // A reply may be lost, and with it a run: its members are no longer in the store's queue.
    if (!this.#queue.keeps && mayBeQueued) {
      for (const other of this.#queue.values()) if (other.state === "queued") other.wake("store");
    }
    this.#grants.wakeLeaders();
  }

  /** Handles a grant of the store, whatever the handle has done meanwhile. */
  #granted(handle: Handle, granted: Granted, sent: HandoffRequest, now: Instant): Attempt {
    const grant = new Grant(this.#context, handle.claim, granted, sent.at, now);
    const run = this.#queue.takeRun(granted, sent.number);
    const held = this.#grants.of(handle.id);
    if (handle.state === "left" || handle.state === "gone") {
      // Another handle may have the lock under this id. Otherwise it was granted after the release.
      if (handle.state === "left" && !this.#grants.isHandedOn(handle.id)) this.#context.track(grant.lease.undo());
      wake(run);
      return granted;
    }
    if (held?.holding !== undefined && held.id === handle.id) {
      if (granted.fence < held.fence) {
        // The answer to an earlier attempt comes last: its fences are below the fence of the caller.
        wake(run);
        return { ...granted, fence: held.holding.fence };
      }
      // An earlier attempt was granted. The members of its run would have fences below the caller's new fence.
      wake(held.members);
      held.adopt(granted, held.holding);
      held.members = this.#grants.current === held ? run : [];
      return granted;
    }
    const { claim: { lease } } = handle;
    if (grant.lease.ageAt(now) >= lease - this.#context.store.drift(lease)) {
      // Too late: the caller pauses, and attempts again under the same id. So no other handle may have the lock under
      // this id.
      handle.state = "idle";
      // In the store, the handle holds the lock until it is released.
      handle.place = "own";
      wake(run);
      this.#grants.wakeLeaders();
      return granted;
    }
    // The store has granted the lock despite the grant that is handed on. So the store no longer has this grant.
    if (held !== undefined) this.#grants.end(held, "lost");
    if (this.#grants.current !== undefined) this.#grants.end(this.#grants.current, "lost");
    const shares = handle.plain && !this.#queue.closed &&
      (this.#queue.keeps || run.length > 0 || handle.unanswered > 0);
    if (!shares) {
      this.#queue.delete(handle.id);
      handle.state = "holder";
      wake(run);
      this.#grants.wakeLeaders();
      return granted;
    }
    if (sent.revocations === this.#grants.revocations) this.#grants.share(grant, run);
    else wake(run); // It may be revoked by now: the handle then finds out like any holder.
    return this.#hold(grant, handle, sent.at, now);
  }

  /** Grants the lock to the handle for which it is reserved, after a renewal if the lease is not fresh. */
  #claim(grant: Grant, handle: Handle, options: AttemptOptions, now: Instant): Promise<Attempt> {
    const { claim: { lease } } = handle;
    const { phase } = grant;
    if (phase.kind !== "next") return Promise.resolve(ASLEEP);
    if (phase.claiming !== undefined) return phase.claiming;
    if (grant.lease.isFresh(lease, now)) return Promise.resolve(this.#hold(grant, handle, now, now));
    const settle = (outcome: Renewal | "unknown"): Attempt | Promise<Attempt> => {
      const answeredAt = this.#context.clock.now();
      if (outcome === "lost") this.#grants.end(grant, "lost");
      else if (outcome === "unknown") this.#grants.end(grant, "unclaimed");
      else if (grant === this.#grants.current && grant.isFor(handle)) {
        if (grant.lease.ageAt(answeredAt) < lease - this.#context.store.drift(lease)) {
          return this.#hold(grant, handle, now, answeredAt);
        }
        handle.state = "idle";
        this.#grants.handOnOrEnd(grant);
        throw new Error(`the answer to a renewal took longer than the lease of ${lease} ms`);
      }
      return handle.waits ? this.proceed(handle, options, answeredAt) : ASLEEP;
    };
    const renewal = within(Math.min(lease, RENEWAL_LIMIT_MS), grant.lease.renew(lease), this.#context.clock);
    // When this process revokes the lock, the answer does not matter, and may never come.
    const over = new Promise<"unknown">((resolve) => phase.cancel = () => resolve("unknown"));
    return phase.claiming = Promise.race([renewal, over]).then(settle, () => settle("unknown"));
  }

  /** Gives the lock to a handle that attempted at `calledAt`. Gives the handle's place in the store's queue back. */
  #hold(grant: Grant, handle: Handle, calledAt: Instant, now: Instant): Attempt {
    const attempt = this.#grants.hold(grant, handle, calledAt, now);
    if (handle.id !== grant.id) {
      if (handle.place === "none" && handle.unanswered === 0) this.#context.store.forget?.(handle.claim);
      else handle.leaveStore(this.#context);
    }
    return attempt;
  }

  /** Grants the lock again to its holder: a reply was lost on its way to the caller. */
  async again(grant: Grant, claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const { holding, lease } = grant;
    if (holding !== undefined && !lease.over) {
      const calledAt = this.#context.clock.now();
      // The lease must not become shorter: the first attempt may have been answered.
      const renewal = await lease.renew(Math.max(claim.lease, Math.ceil(lease.endsIn(calledAt))));
      if (renewal === "renewed" && grant.holding?.handle === holding.handle) {
        return { granted: true, fence: grant.holding.fence, age: lease.ageAt(calledAt) };
      }
      if (renewal === "lost") this.#grants.end(grant, "lost");
    }
    this.#grants.tidy();
    // It lines up with its next attempt: nobody here would know of a place that it gets by this one.
    return await this.#context.store.attempt(claim, { ...options, enqueue: false });
  }
}

function wake(handles: Iterable<Handle>): void {
  for (const handle of handles) handle.wake();
}
