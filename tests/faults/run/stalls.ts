import { now } from "../../verification/history/history.ts";
import type { Span } from "./fault_times.ts";

/** How often it is seen whether the process stands still, and how long is too long, in milliseconds. */
const [BEAT, STILL] = [20, 200];

/** Notes when this process stands still, because it was stopped or the machine has more to do than it can. */
export class Stalls implements Disposable {
  readonly seen: Span[] = [];
  readonly #timer: ReturnType<typeof setInterval>;
  #last = now();

  /** Begins to watch; `report` gets each stall at once. */
  constructor(report: (stall: Span) => void = () => {}) {
    this.#timer = setInterval(() => {
      const [start, end] = [this.#last, now()];
      this.#last = end;
      if (end - start <= STILL) return;
      this.seen.push({ start, end });
      report({ start, end });
    }, BEAT);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
