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

/** Notes when a server to which nothing happens is slow to answer: the machine has more to do than it can. */
export class SlowServer implements AsyncDisposable {
  readonly seen: Span[] = [];
  readonly #ended: Promise<void>;
  #over = false;

  /** Begins to ask; `ask` resolves when the server has answered, and notes when that takes longer than `longest`. */
  constructor(longest: number, ask: () => Promise<unknown>) {
    this.#ended = this.#watch(longest, ask);
  }

  async #watch(longest: number, ask: () => Promise<unknown>): Promise<void> {
    while (!this.#over) {
      const start = now();
      await ask();
      const end = now();
      if (end - start > longest) this.seen.push({ start, end });
      await new Promise((resolve) => setTimeout(resolve, BEAT));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    await this.#ended;
  }
}
