import { elapsed, type Instant } from "../../internal/clock.ts";
import { ProcessLease } from "../../internal/process_lease.ts";
import { StoreError } from "../../errors.ts";
import type { Attempt, Claim, Granted } from "../../store.ts";
import type { GlobalHold } from "./global_hold.ts";
import type { Site } from "./site.ts";

/** After so many milliseconds without an answer another attempt is worth another request. */
export const OVERDUE_MS = 1_000;

/** An attempt that was not granted. */
export type Refusal = Exclude<Attempt, Granted>;

/** How a request of the cohort ended. */
export type Answer =
  | { readonly kind: "granted"; readonly granted: Granted; readonly sentAt: Instant }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  | { readonly kind: "fault"; readonly error: unknown };

/** Whoever an {@linkcode Ask} is made for. */
export interface Asker {
  /** How often this process has revoked the lock. */
  readonly revocations: number;
  /** Takes an answer, before anybody who waits for {@linkcode Ask.awaited} does. Not called once the ask is over. */
  answered(ask: Ask, answer: Answer): void;
  /** Returns whether somebody still waits for the lock; if not, ends the ask. */
  wants(ask: Ask): boolean;
}

/**
 * What the cohort asks the store for, under an id of its own: once, or again and again while the lock is busy. It is over
 * when it was granted, or nobody wants the lock from it any more.
 *
 * After a fault the loop stops. The id stays, and with it the place in the queue of the store: the next waiter that
 * attempts again starts the loop anew.
 */
export class Ask {
  readonly claim: Claim;
  /** What it was granted. */
  hold: GlobalHold | undefined;
  /** Whether the store has answered that it is in the queue. */
  queued = false;
  /** How often this process had revoked the lock when the last request was sent. */
  revocations = 0;
  readonly #site: Site;
  readonly #asker: Asker;
  /** The answer that is awaited, whichever of the requests in flight it comes from. */
  #awaited: { readonly answer: Promise<Answer>; readonly resolve: (answer: Answer) => void } | undefined;
  #running = false;
  #ended = false;
  /** When the last request was sent that may have left a lock or a place in the queue in the store. */
  #sentAt: Instant | undefined;
  #lastSentAt: Instant | undefined;
  #unanswered = 0;
  #step: AbortController | undefined;

  /** Prepares to ask with this claim. */
  constructor(site: Site, claim: Claim, asker: Asker) {
    this.#site = site;
    this.claim = claim;
    this.#asker = asker;
  }

  /** Whether it was granted, or nobody wants the lock from it any more. */
  get over(): boolean {
    return this.#ended || this.hold !== undefined;
  }

  /** The answer that the store has not given yet, if a request is in flight. */
  get awaited(): Promise<Answer> | undefined {
    return this.#awaited?.answer;
  }

  /** Returns whether the store has not answered the last request for long. */
  isOverdue(now: Instant): boolean {
    if (this.#awaited === undefined || this.#lastSentAt === undefined) return false;
    return elapsed(this.#lastSentAt, now) >= OVERDUE_MS;
  }

  /** Whether the loop runs. */
  get running(): boolean {
    return this.#running;
  }

  /** Asks until the ask is over or a request fails, from this moment on. */
  async run(now: Instant): Promise<void> {
    this.#running = true;
    for (;; now = this.#site.clock.now()) {
      const answer = await this.request(now);
      // Not running any more: somebody may have it run again already.
      if (answer.kind === "fault") return;
      if (this.over || answer.kind !== "refused" || "conflict" in answer.refusal) break;
      await this.#pause(answer.refusal.retryAfter);
      if (this.over || !this.#asker.wants(this)) break;
    }
    this.#running = false;
  }

  /** Sends one more request. Resolves to the first answer to any that is in flight. */
  request(now: Instant): Promise<Answer> {
    let resolve = (_: Answer) => {};
    const { answer } = this.#awaited ??= {
      answer: new Promise<Answer>((r) => resolve = r),
      resolve: (a) => resolve(a),
    };
    const sent = this.send(true, now).then((answer) => {
      const awaited = this.#awaited;
      this.#awaited = undefined;
      if (awaited !== undefined && answer.kind === "fault") this.#running = false;
      // An old answer that comes while no other one is awaited is of no interest, unless it is a grant.
      if (!this.over && (awaited !== undefined || answer.kind === "granted")) this.#asker.answered(this, answer);
      awaited?.resolve(answer);
    });
    this.#site.track(sent);
    return answer;
  }

  /** Sends one request, at that moment or somewhat later. Never rejects. */
  async send(enqueue: boolean, sentAt: Instant): Promise<Answer> {
    const { store } = this.#site;
    const before = this.#sentAt;
    this.#lastSentAt = this.#sentAt = sentAt;
    this.revocations = this.#asker.revocations;
    this.#unanswered++;
    let answer: Answer;
    try {
      const attempt = await store.attempt(this.claim, { enqueue });
      answer = attempt.granted ? { kind: "granted", granted: attempt, sentAt } : { kind: "refused", refusal: attempt };
      this.queued = enqueue && "retryAfter" in attempt;
      if (!attempt.granted && (!enqueue || "conflict" in attempt) && this.#sentAt === sentAt) this.#sentAt = before;
    } catch (error) {
      // A StoreError says that the attempt did nothing.
      if (error instanceof StoreError && this.#sentAt === sentAt) this.#sentAt = before;
      answer = { kind: "fault", error };
    }
    this.#unanswered--;
    // The store may have executed it after the release.
    if (this.hold?.lease.over ?? this.#ended) this.#site.track(this.#undo());
    return answer;
  }

  /**
   * Ends it because nobody wants the lock from it any more. Resolves once what it has left in the store is released. If
   * that fails, it is retried in the background.
   */
  async end(): Promise<void> {
    this.#ended = true;
    this.#step?.abort("over");
    // What a request that is not answered yet leaves there is released when it is.
    if (this.#sentAt === undefined || this.#unanswered > 0) return;
    try {
      await this.#site.store.release(this.claim);
    } catch (error) {
      this.#site.track(this.#undo());
      throw error;
    }
  }

  /** Waits until another request makes sense, or the ask is over. */
  async #pause(ms: number): Promise<void> {
    const { store, clock } = this.#site;
    const step = this.#step = new AbortController();
    if (this.over) return;
    const sleep = clock.sleep(ms, step.signal);
    const wakeup = async () => await store.wakeup?.(this.claim, step.signal);
    await Promise.race([sleep, store.wakeup === undefined ? sleep : wakeup().catch(() => sleep)]);
    step.abort("over");
  }

  /** Releases its id, with retries until that is answered or what may have been granted is over. */
  async #undo(): Promise<void> {
    if (this.#sentAt === undefined) return;
    await new ProcessLease(this.#site.store, this.claim, this.#sentAt, this.#site.clock).undo();
  }
}
