import { now } from "../../verification/history/history.ts";
import type { Span } from "./fault_times.ts";

/** How often it is seen whether the process stands still, in milliseconds. */
const BEAT = 20;

/** Notes when this process stands still, because it was stopped or the machine has more to do than it can. */
export class Stalls implements Disposable {
  readonly seen: Span[] = [];
  readonly #timer: ReturnType<typeof setInterval>;
  #last = now();

  /** Begins to watch; `report` gets each stall that is longer than so many milliseconds at once. */
  constructor(longest: number, report: (stall: Span) => void = () => {}) {
    this.#timer = setInterval(() => {
      const [start, end] = [this.#last, now()];
      this.#last = end;
      if (end - start <= longest) return;
      this.seen.push({ start, end });
      report({ start, end });
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
