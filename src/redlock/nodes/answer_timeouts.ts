import { type Clock, elapsed, type Instant, type Timer } from "../../time/clock.ts";

/** How often the time is counted, in milliseconds. */
const SLICE_MS = 5;

/** The lateness of a timer, in milliseconds, from which it proves nothing: answers may lie unread behind it. */
const LATE_MS = 5;

/**
 * Time-outs for the answers of nodes. Their time runs only while answers can be read: an event loop that was busy for a
 * second proves nothing about the nodes. So the time is counted in slices of a few milliseconds. Each slice is at least
 * one turn of the event loop, and counts as one slice however long it took. After a late timer, the answers that have
 * arrived are read before a deadline is reached. All deadlines share one timer.
 */
export class AnswerTimeouts {
  readonly #clock: Clock;
  /** The deadlines, each with the time when it is reached, in counted milliseconds. */
  readonly #deadlines = new Set<{ readonly due: number; readonly run: () => void }>();
  #timer: Timer | undefined;
  /** The time that was counted up to `#since`, in milliseconds. */
  #counted = 0;
  #since: Instant = { monotonic: 0, wall: 0 };
  #interval = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs a function once when `ms` milliseconds were counted. Does not keep the process alive. */
  timer(ms: number, run: () => void): Timer {
    const now = this.#clock.now();
    if (this.#deadlines.size === 0) this.#since = now;
    const passed = Math.min(elapsed(this.#since, now), SLICE_MS + LATE_MS);
    const deadline = { due: this.#counted + passed + ms, run };
    this.#deadlines.add(deadline);
    if (this.#timer === undefined || deadline.due < this.#counted + this.#interval) this.#arm(deadline.due);
    return {
      cancel: () => {
        if (this.#deadlines.delete(deadline) && this.#deadlines.size === 0) this.#stop();
      },
    };
  }

  /** Sets the timer to the end of the slice or to an earlier deadline, but at least one turn of the event loop away. */
  #arm(due: number): void {
    this.#stop();
    this.#interval = Math.max(1, Math.min(SLICE_MS, due - this.#counted));
    this.#timer = this.#clock.timer(this.#interval, () => this.#tick(), this.#since);
  }

  #tick(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    const took = elapsed(this.#since, now);
    const late = took > this.#interval + LATE_MS;
    const before = this.#counted;
    this.#counted += late ? this.#interval : took;
    this.#since = now;
    const reached = late ? before : this.#counted;
    // One by one: what one of them runs may cancel another.
    for (const deadline of [...this.#deadlines]) {
      if (deadline.due <= reached && this.#deadlines.delete(deadline)) deadline.run();
    }
    let next = Infinity;
    for (const { due } of this.#deadlines) next = Math.min(next, due);
    if (this.#deadlines.size > 0) this.#arm(next);
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
