import { now } from "../../verification/history/history.ts";
import type { Span } from "./fault_times.ts";

/** How often it is seen whether the process stands still, in milliseconds. */
const BEAT = 20;

/** For how long stalls add up, in milliseconds: a renewal must be answered within about this time. */
const SUMMED_MS = 500;

/** Notes when this process stands still, because it was stopped or the machine has more to do than it can. */
export class Stalls implements Disposable {
  readonly seen: Span[] = [];
  readonly #timer: ReturnType<typeof setInterval>;
  #last = now();

  /** Begins to watch; `report` gets each stall at once that is, with those just before it, longer than `longest` ms. */
  constructor(longest: number, report: (stall: Span) => void = () => {}) {
    const recent: Span[] = [];
    this.#timer = setInterval(() => {
      const [last, end] = [this.#last, now()];
      this.#last = end;
      if (end - last <= 2 * BEAT) return;
      recent.push({ start: last, end });
      while (recent[0]!.end < end - SUMMED_MS) recent.shift();
      if (recent.reduce((sum, { start, end }) => sum + end - start, 0) <= longest) return;
      const stall = { start: recent[0]!.start, end };
      this.seen.push(stall);
      report(stall);
    }, BEAT);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** Notes when a server is slow to answer, or does not: the machine has more to do than it can, or it has no leader. */
export class SlowServer implements AsyncDisposable {
  readonly seen: Span[] = [];
  readonly #ended: Promise<void>;
  #over = false;

  /**
   * Begins to ask, with so many milliseconds between; `ask` resolves when the server has answered, and it is noted when
   * that takes longer than `longest`, or fails.
   */
  constructor(longest: number, ask: () => Promise<unknown>, every: number = BEAT) {
    this.#ended = this.#watch(longest, ask, every);
  }

  async #watch(longest: number, ask: () => Promise<unknown>, every: number): Promise<void> {
    while (!this.#over) {
      const start = now();
      const answered = await ask().then(() => true, () => false);
      const end = now();
      if (!answered || end - start > longest) this.seen.push({ start, end });
      await new Promise((resolve) => setTimeout(resolve, every));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    await this.#ended;
  }
}
