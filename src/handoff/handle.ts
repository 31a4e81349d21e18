import { calledOrAborted } from "../time/aborted.ts";
import { type Clock, elapsed, GRACE_MS, type Instant, type Timer } from "../time/clock.ts";
import { releaseWithRetry, within } from "../contract/release.ts";
import { isPlain } from "../rules/group.ts";
import { type Claim, handleOf } from "../contract/store.ts";
import type { HandoffContext } from "./context.ts";

/** After this many milliseconds without an answer another handle attempts in place of this handle. */
const OVERDUE_MS = 3_000;

/** A waiter that neither attempted nor listened for this many milliseconds has no caller: it is passed over. */
const SILENT_MS = 3_000;

/** How soon a caller acts after an attempt, in milliseconds: it attempts again if there was no answer for 10 s. */
const UNHEARD_MS = 12_000;

/** How long a place is kept for unanswered attempts, and for a handle that shows no sign, in milliseconds. */
export const FORGOTTEN_MS = 60_000;

/**
 * The state of a handle that wants a lock:
 *
 * - `asking`: the store has not answered its attempt.
 * - `queued`: it waits in the store's queue, and here.
 * - `sleeping`: it waits here alone.
 * - `next`: the lock is reserved for it until it attempts again.
 * - `idle`: it pauses after a fault. Nothing wakes it before it attempts again.
 * - `holder`: it was granted the lock.
 * - `left`: it has given up, or released the lock.
 * - `gone`: it has given up, or steals. It releases its grants itself.
 */
export type HandleState = "asking" | "queued" | "sleeping" | "next" | "idle" | "holder" | "left" | "gone";

export class Handle {
  readonly claim: Claim;
  readonly id: string;
  /** Whether it may share a grant with other handles. */
  readonly plain: boolean;
  readonly since: Instant;
  state: HandleState = "sleeping";
  /** Its place in the store's queue: `own`: it keeps the place alive itself; `shared`: another handle can; `none`. */
  place: "none" | "own" | "shared" = "none";
  /** How many of its attempts the store has not answered. */
  unanswered = 0;
  /** How many attempts all handles had sent when its last attempt was answered. */
  answeredAt = 0;
  /** When its last attempt was sent, and a promise that settles with all its unanswered attempts. */
  #sent: { readonly at: Instant; readonly answer: Promise<unknown> };
  /** When it last attempted or began to listen. */
  #heardAt: Instant;
  #unheard: Timer | undefined;
  #wake: (() => void) | undefined;
  /** The origin of a wake-up that came while it did not listen, since its last attempt. */
  #woken: "here" | "store" | undefined;

  constructor(claim: Claim, now: Instant) {
    this.claim = claim;
    this.id = handleOf(claim);
    this.plain = isPlain(claim);
    this.since = this.#heardAt = now;
    this.#sent = { at: now, answer: Promise.resolve() };
  }

  /** Whether it waits for the lock, as far as known. */
  get waits(): boolean {
    return this.state !== "holder" && this.state !== "left" && this.state !== "gone";
  }

  /** Returns whether it will take the lock at once when handed it, or attempt when it becomes the leader. */
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

  /** Records that its caller attempts. Returns the origin of the wake-up since the last attempt. */
  attempts(now: Instant): "here" | "store" | undefined {
    const woken = this.#woken;
    this.#woken = undefined;
    this.#heardAt = now;
    if (this.state === "idle") this.state = this.place === "none" ? "sleeping" : "queued";
    return woken;
  }

  /** Records that its caller pauses after a fault, which uses up a wake-up: the handle then asks by itself. */
  pauses(): void {
    this.state = "idle";
    if (this.place !== "none") this.place = "own";
  }

  sends<T>(now: Instant, answer: Promise<T>): Promise<T> {
    this.#sent = { at: now, answer: this.unanswered === 0 ? answer : Promise.allSettled([this.#sent.answer, answer]) };
    this.unanswered++;
    if (this.state !== "next") this.state = "asking";
    return answer;
  }

  /**
   * Calls a function once, if its caller has given up by then: since `sentAt` it has neither attempted nor listened.
   */
  unheard(clock: Clock, run: () => void, sentAt: Instant): void {
    this.#unheard?.cancel();
    this.#unheard = clock.timer(UNHEARD_MS, () => {
      const now = clock.now();
      if (!this.waits || this.#wake !== undefined || elapsed(this.#heardAt, now) < UNHEARD_MS) return;
      if (elapsed(sentAt, now) < UNHEARD_MS + GRACE_MS) run();
      // The process was stopped, and its caller with it.
      else this.unheard(clock, run, now);
    }, sentAt);
  }

  /** Records that an attempt was answered, or has failed. All handles had sent `sent` attempts by then. */
  answers(sent: number): void {
    this.unanswered--;
    this.settles();
    this.answeredAt = sent;
  }

  /** Ends the watch over a silent caller, if no attempt is unanswered or the handle no longer waits. */
  settles(): void {
    if (this.unanswered === 0 || !this.waits) this.#unheard?.cancel();
  }

  /** Returns how long ago its last attempt was sent, in milliseconds. */
  sentFor(now: Instant): number {
    return elapsed(this.#sent.at, now);
  }

  /** Gives its place in the store's queue back, in the background, once its attempts are answered. */
  leaveStore({ store, clock, track, leaving }: HandoffContext): void {
    const release = () => releaseWithRetry(store, this.claim, clock);
    // A place that cannot be given back ends with its waiter timeout.
    const left = this.#answered(clock).then(release).catch(() => {}).then(() => void leaving.delete(this.id));
    leaving.set(this.id, left);
    track(left);
  }

  /** Resolves when the store has answered its attempts, or they have failed, or after a minute. */
  async #answered(clock: Clock): Promise<void> {
    const answered = async () => {
      while (this.unanswered > 0) await this.#sent.answer.catch(() => {}); // Its caller has the error.
    };
    // It only rejects when the time is over.
    if (this.unanswered > 0) await within(FORGOTTEN_MS, answered(), clock).catch(() => {});
  }

  /** Makes it attempt again: at once if it listens, else when it next listens. */
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
