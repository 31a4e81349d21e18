import { calledOrAborted } from "../time/aborted.ts";
import { type Clock, elapsed, type Instant } from "../time/clock.ts";
import { isPlain } from "./group.ts";
import { type Claim, handleOf } from "../../store.ts";

/** After so many milliseconds without an answer another handle attempts in the place of this one. */
const OVERDUE_MS = 3_000;

/** A waiter that neither attempted nor listened for so many milliseconds has no caller: it is passed over. */
const SILENT_MS = 3_000;

/**
 * Where a handle is that wants a lock:
 *
 * - `asking`: the store has not answered its attempt.
 * - `queued`: it waits in the store's queue, and here.
 * - `sleeping`: it waits here alone.
 * - `next`: the lock is kept for it until it attempts again.
 * - `idle`: it pauses after a fault. Nothing wakes it before it attempts again.
 * - `holder`: it was granted the lock.
 * - `left`: it has given up, or released the lock.
 */
export type HandleState = "asking" | "queued" | "sleeping" | "next" | "idle" | "holder" | "left";

/** A handle of this process that wants a lock. */
export class Handle {
  readonly claim: Claim;
  readonly id: string;
  /** Whether it may share a grant with other handles. */
  readonly plain: boolean;
  /** When it attempted for the first time. */
  readonly since: Instant;
  state: HandleState = "sleeping";
  /**
   * Its place in the store's queue: `own` if it must keep that alive by itself, `shared` if another handle can do so, `none`
   * if the store has no place for it.
   */
  place: "none" | "own" | "shared" = "none";
  /** How many of its attempts the store has not answered. */
  unanswered = 0;
  /** How many attempts all handles had sent when its last one was answered. */
  answeredAt = 0;
  /** When its last attempt was sent, and what settles with all that are not answered. */
  #sent: { readonly at: Instant; readonly answer: Promise<unknown> };
  /** When it last attempted or began to listen. */
  #heardAt: Instant;
  #wake: (() => void) | undefined;
  /** The origin of a wake-up that came while it did not listen, or since it last attempted. */
  #woken: "here" | "store" | undefined;

  /** Makes a handle that attempts at that moment, with the claim that it asks the store for. */
  constructor(claim: Claim, now: Instant) {
    this.claim = claim;
    this.id = handleOf(claim);
    this.plain = isPlain(claim);
    this.since = this.#heardAt = now;
    this.#sent = { at: now, answer: Promise.resolve() };
  }

  /** Whether it waits for the lock, as far as is known. */
  get waits(): boolean {
    return this.state !== "holder" && this.state !== "left";
  }

  /** Returns whether it will take the lock at once if that is handed to it, or attempts if that is left to it. */
  canLead(now: Instant): boolean {
    switch (this.state) {
      case "asking":
        return this.sentFor(now) < OVERDUE_MS;
      case "queued":
      case "sleeping":
      case "next":
        return this.unanswered > 0 || this.#wake !== undefined || elapsed(this.#heardAt, now) < SILENT_MS;
      default:
        return false;
    }
  }

  /** Notes that its caller attempts. Returns who has woken it since the attempt before. */
  attempts(now: Instant): "here" | "store" | undefined {
    const woken = this.#woken;
    this.#woken = undefined;
    this.#heardAt = now;
    if (this.state === "idle") this.state = this.place === "none" ? "sleeping" : "queued";
    return woken;
  }

  /** Notes that its caller pauses after a fault. A wake-up of the store is used up with that: then it asks by itself. */
  pauses(): void {
    this.state = "idle";
    if (this.place !== "none") this.place = "own";
  }

  /** Notes that an attempt was sent, and returns it. */
  sends<T>(now: Instant, answer: Promise<T>): Promise<T> {
    this.#sent = { at: now, answer: this.unanswered === 0 ? answer : Promise.allSettled([this.#sent.answer, answer]) };
    this.unanswered++;
    if (this.waits && this.state !== "next") this.state = "asking";
    return answer;
  }

  /** Returns how long ago its last attempt was sent, in milliseconds. */
  sentFor(now: Instant): number {
    return elapsed(this.#sent.at, now);
  }

  /** Resolves when the store has answered its attempts, or they have failed. */
  async answered(): Promise<void> {
    while (this.unanswered > 0) await this.#sent.answer.catch(() => {});
  }

  /** Makes it attempt again: now if it listens, otherwise as soon as it would. */
  wake(by: "here" | "store" = "here"): void {
    if (this.#woken !== "store") this.#woken = by;
    this.#wake?.();
  }

  /** Resolves when it is woken, here or by the store, or when the signal aborts. */
  listen(clock: Clock, signal: AbortSignal, wakeup?: () => Promise<void>): Promise<void> {
    if (this.#woken !== undefined || signal.aborted) return Promise.resolve();
    this.#heardAt = clock.now();
    return calledOrAborted(signal, (woken) => {
      this.#wake = woken;
      // A store that cannot wake it is polled.
      wakeup?.().then(() => signal.aborted || this.wake("store"), () => {});
      return () => {
        if (this.#wake === woken) this.#wake = undefined;
      };
    });
  }
}
