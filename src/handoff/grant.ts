import { calledOrAborted } from "../time/aborted.ts";
import type { Clock, Instant } from "../time/clock.ts";
import { type Attempt, type Claim, type Granted, handleOf, type Meta } from "../contract/store.ts";
import type { Handle } from "./handle.ts";
import { ProcessLease } from "./process_lease.ts";
import type { HandoffContext } from "./context.ts";

/** How often it is checked whether a watched lease is over, in milliseconds: a renewal may have made it shorter. */
const LEASE_CHECK_MS = 5_000;

/** A handle that holds the lock under a grant. */
export interface Holding {
  readonly kind: "held";
  readonly handle: Handle;
  readonly fence: bigint;
  readonly since: Instant;
  /** The largest number of the handle's renewals. */
  renewal: number;
  /** Called when the grant is lost, with the `meta` of the revoker, if known. */
  revoked: ((by?: Meta) => void) | undefined;
}

/**
 * The use of a granted lock: a handle holds it; it is reserved for the next handle until that attempts; no handle has
 * it, and it lingers; it was given back, or is lost.
 */
export type GrantPhase =
  | Holding
  | {
    readonly kind: "next";
    readonly handle: Handle;
    readonly since: Instant;
    /** Its attempt, while the lease is renewed for it. */
    claiming: Promise<Attempt> | undefined;
    cancel: () => void;
  }
  | { readonly kind: "lingering"; readonly since: Instant }
  | { readonly kind: "over" };

/** A grant of the store to a handle of this process: one lease, and a block of fences for the handles that follow. */
export class Grant {
  readonly lease: ProcessLease;
  /** The id of the handle that the store knows as the holder. */
  readonly id: string;
  /** The fence under which the store knows the holder. */
  fence: bigint;
  /** When the store's answer arrived. */
  readonly since: Instant;
  /** Whether other handles were left waiting in the store's queue, as far as known. */
  readonly contended: boolean;
  phase: GrantPhase = { kind: "over" };
  /** The members of its run that have not had the lock, in their order. */
  members: readonly Handle[] = [];
  /** Whether a section under the grant has lasted as long as `keep`. */
  long = false;
  /** Whether the grant is given back in the background. */
  abandoned = false;
  /** Whether a loop keeps the lock while no handle has it. */
  lingers = false;
  readonly #clock: Clock;
  #nextFence: bigint;
  #lastFence: bigint;
  #watched = false;
  #watching: AbortController | undefined;
  #over: AbortController | undefined;

  /** Creates the grant of an attempt; `sentAt` and `since` are the times of its request and its answer. */
  constructor({ store, clock }: HandoffContext, claim: Claim, granted: Granted, sentAt: Instant, now: Instant) {
    this.lease = new ProcessLease(store, claim, sentAt, clock, granted.age);
    this.#clock = clock;
    this.id = handleOf(claim);
    this.since = now;
    this.fence = granted.fence;
    this.contended = granted.contended ?? false;
    [this.#nextFence, this.#lastFence] = blockOf(granted);
  }

  /** The handle that holds the lock, with its fence and renewals. */
  get holding(): Holding | undefined {
    return this.phase.kind === "held" ? this.phase : undefined;
  }

  get hasFences(): boolean {
    return this.#nextFence <= this.#lastFence;
  }

  /** Aborts when the grant is over. Work for its sake goes on until then. */
  get over(): AbortSignal {
    return (this.#over ??= new AbortController()).signal;
  }

  /** Returns whether the lock is reserved for this handle. */
  isFor(handle: Handle): boolean {
    return this.phase.kind === "next" && this.phase.handle === handle;
  }

  /** Gives the lock to a handle. A fence must be left. */
  hold(handle: Handle, now: Instant): Holding {
    const { renewal = 0 } = handle.claim;
    const fence = this.#nextFence++;
    handle.state = "holder";
    return this.phase = { kind: "held", handle, fence, since: now, renewal, revoked: undefined };
  }

  offer(handle: Handle, now: Instant): void {
    this.phase = { kind: "next", handle, since: now, claiming: undefined, cancel: () => {} };
    handle.state = "next";
    handle.wake();
  }

  /** Takes the fences of a second grant to the same handle, which are above the fences of the first. */
  adopt(granted: Granted, holding: Holding): void {
    this.fence = granted.fence;
    [this.#nextFence, this.#lastFence] = blockOf(granted);
    this.phase = { ...holding, fence: this.#nextFence++ };
  }

  /**
   * Watches for a revocation while the lease lasts, once for all handles that have the lock in turn.
   *
   * @param watch begins to watch; returns `undefined` if it cannot now
   */
  watch(
    watch: (claim: Claim, signal: AbortSignal) => Promise<Meta | void> | undefined,
    revoked: (by?: Meta) => void,
  ): void {
    if (this.#watched || this.lease.over) return;
    const { signal } = this.#watching ??= new AbortController();
    const revocation = watch(this.lease.claim, signal);
    if (revocation === undefined) return;
    this.#watched = true;
    // If the store fails here, the next renewal detects the loss.
    revocation.then((by) => signal.aborted || revoked(by ?? undefined), () => {});
    void this.#watchLease(signal);
  }

  /** Ends the watch with the lease: the holder may never release the lock, and nobody may wait for it here. */
  async #watchLease(watching: AbortSignal): Promise<void> {
    while (!watching.aborted) {
      const now = this.#clock.now();
      const left = this.lease.trustedFor(now);
      // A release may come yet: it goes to the store under the id of this grant.
      if (left <= 0) return this.#unwatch();
      const ms = Math.min(left, LEASE_CHECK_MS);
      await calledOrAborted(watching, (end) => {
        const timer = this.#clock.timer(ms, () => end(), now, ms);
        return () => timer.cancel();
      });
    }
  }

  /** Ends the watch for a revocation, until it begins again. */
  #unwatch(): void {
    this.#watching?.abort("over");
    this.#watching = undefined;
    this.#watched = false;
  }

  /** Ends the grant and all work for its sake. Returns the handles that wait for it and must be woken. */
  end(): Handle[] {
    const { phase, members } = this;
    this.#unwatch();
    this.#over?.abort("over");
    this.phase = { kind: "over" };
    this.members = [];
    if (phase.kind !== "next") return [...members];
    phase.cancel();
    // A handle that has given up does not wait: its leaving may be why the grant ends.
    if (phase.handle.waits) phase.handle.state = phase.handle.place === "none" ? "sleeping" : "queued";
    return [phase.handle, ...members];
  }
}

/** Returns the first and the last reserved fence; each handle of a run has one fence. */
function blockOf({ fence, fences = 1, run = [] }: Granted): [bigint, bigint] {
  return [fence, fence + BigInt(Math.max(fences - 1, run.length))];
}
