import type { Store } from "@holdfast/lock";
import { checkCohortOptions, type CohortOptions } from "../../src/cohort/options.ts";
import { HandoffCohort } from "../../src/cohort/cohort.ts";
import type { Clock, Instant, Timer } from "../../src/time/clock.ts";
import { HandoffStore } from "../../src/handoff/handoff_store.ts";
import type { Attempt, AttemptOptions, Capability, Claim, Renewal } from "../../src/contract/store.ts";
import { sleep } from "../support/sleep.ts";

/** Returns a promise that is never settled, and keeps nobody who waits for it from being garbage. */
function never(): Promise<never> {
  return new Promise(() => {});
}

/** How a process uses the store: hands runs on, or is a cohort. */
export type Sharing = "runs" | CohortOptions;

/** What a process was in the middle of. */
export type Phase = "run" | "block" | "linger" | "call" | "other";

/** The clock of a process: it stops when that is killed. */
class MortalClock implements Clock {
  readonly #clock: Clock;
  readonly #timers = new Set<Timer>();
  #stopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): Instant {
    return this.#clock.now();
  }

  timer(ms: number, run: () => void, from?: Instant, latest?: number): Timer {
    if (this.#stopped) return { cancel: () => {} };
    const timer = this.#clock.timer(
      ms,
      () => {
        this.#timers.delete(timer);
        run();
      },
      from,
      latest,
    );
    this.#timers.add(timer);
    return {
      cancel: () => {
        this.#timers.delete(timer);
        timer.cancel();
      },
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleep(this, ms, signal);
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}

/** The fences that the store has given with a grant, and from which on they are unused. */
interface Block {
  readonly owner: string;
  readonly last: bigint;
  next: bigint;
}

/**
 * A process as far as the store can tell: once it is killed, none of its calls reaches the store, no reply reaches it
 * and no timer of it runs.
 */
export class MortalProcess implements Store {
  readonly clock: MortalClock;
  /** Through which its handles acquire. */
  readonly store: Store;
  readonly capabilities: readonly Capability[];
  readonly drift: (lease: number) => number;
  /** How many of its tasks hold the lock, or wait for it. */
  holding = 0;
  waiting = 0;
  readonly #sharing: Sharing;
  readonly #kept: Store;
  readonly #life = new AbortController();
  /** What the store may know of it. */
  readonly #claims = new Map<string, Claim>();
  #block: Block | undefined;
  #fatal: { calls: number; readonly carriedOut: boolean } | undefined;
  #phase: Phase | undefined;

  /** Starts it. */
  constructor(kept: Store, clock: Clock, sharing: Sharing) {
    this.#kept = kept;
    this.#sharing = sharing;
    this.clock = new MortalClock(clock);
    this.capabilities = kept.capabilities ?? [];
    this.drift = (lease) => kept.drift(lease);
    this.store = sharing === "runs"
      ? new HandoffStore(this, this.clock)
      : new HandoffCohort(this, this.clock, checkCohortOptions(sharing));
  }

  /** What it was in the middle of when it was killed. */
  get phase(): Phase | undefined {
    return this.#phase;
  }

  /** Kills it. */
  kill(phase: Phase = this.present): void {
    if (this.#phase !== undefined) return;
    this.#phase = phase;
    this.clock.stop();
    this.#life.abort("killed");
  }

  /** Has it killed with one of its next calls, before or after the store has carried that out. */
  killWithCall(calls: number, carriedOut: boolean): void {
    this.#fatal = { calls, carriedOut };
  }

  /** Notes a fence that one of its handles has got. */
  got(fence: bigint): void {
    if (this.#block !== undefined && fence <= this.#block.last) this.#block.next = fence + 1n;
  }

  /** Frees what it has left behind, as if all that had expired. */
  async bury(): Promise<void> {
    for (const claim of this.#claims.values()) await this.#kept.release(claim);
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    if (this.#phase === undefined) this.#claims.set(claim.owner, claim);
    return this.#carry(async () => {
      const attempt = await this.#kept.attempt(claim, options);
      if (attempt.granted) {
        const { fence, fences = 1, run = [] } = attempt;
        this.#block = { owner: claim.owner, next: fence, last: fence + BigInt(Math.max(fences - 1, run.length)) };
      }
      return attempt;
    });
  }

  renew(claim: Claim): Promise<Renewal> {
    return this.#carry(() => this.#kept.renew(claim));
  }

  release(claim: Claim): Promise<boolean> {
    if (this.#block?.owner === claim.owner) this.#block = undefined;
    return this.#carry(async () => {
      const released = await this.#kept.release(claim);
      this.#claims.delete(claim.owner);
      return released;
    });
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    if (this.#phase !== undefined) return never();
    return this.#kept.wakeup!(claim, AbortSignal.any([signal, this.#life.signal]));
  }

  forget(claim: Claim): void {
    this.#kept.forget?.(claim);
  }

  /** What it is in the middle of. */
  get present(): Phase {
    const unused = this.#block !== undefined && this.#block.next <= this.#block.last;
    if (!unused) return "other";
    if (this.#sharing === "runs") return "run";
    return this.holding === 0 && this.waiting === 0 ? "linger" : "block";
  }

  async #carry<T>(go: () => Promise<T>): Promise<T> {
    if (this.#phase !== undefined) return await never();
    const dies = this.#fatal !== undefined && --this.#fatal.calls <= 0;
    if (dies && !this.#fatal!.carriedOut) this.kill("call");
    if (this.#phase !== undefined) return await never();
    const reply = await go();
    if (dies) this.kill("call");
    return this.#phase === undefined ? reply : await never();
  }
}
