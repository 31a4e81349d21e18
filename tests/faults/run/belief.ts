import type { Lock } from "../../../src/lock/lock.ts";
import { holds } from "../../verification/exclusion.ts";
import type { Trace } from "./trace.ts";

/** What a holder last knew of its lock, and whether it believed in it after the end of its lease. */
export class Belief {
  /** When it found for the last time that it held the lock. */
  at: number;
  readonly #lock: Pick<Lock, "held">;
  readonly #trace: Pick<Trace, "deadline" | "lease" | "overdue">;
  readonly #now: () => number;
  readonly #overdue: (at: number, ms: number) => void;
  #reported = false;

  /**
   * Begins with the grant. An acquire whose answer came after the end of the lease must not resolve.
   *
   * @param lock what was granted
   * @param trace what is known of its lease
   * @param start when it was asked for
   * @param now reads the clock
   * @param overdue is told the first time at which it believes for too long, and by how many milliseconds
   */
  constructor(
    lock: Pick<Lock, "held">,
    trace: Pick<Trace, "deadline" | "lease" | "overdue">,
    start: number,
    now: () => number,
    overdue: (at: number, ms: number) => void,
  ) {
    this.#lock = lock;
    this.#trace = trace;
    this.at = start;
    this.#now = now;
    this.#overdue = overdue;
    // Not by the clock: the process may have been stopped since.
    if (trace.overdue > 0) this.#report(now(), trace.overdue);
  }

  /** Asks whether the lock is held. */
  held(): boolean {
    const at = this.#now();
    if (!this.#lock.held) return false;
    this.at = at;
    const { deadline, lease } = this.#trace;
    if (lease !== undefined && !holds({ until: deadline }, at)) this.#report(at, at - deadline);
    return true;
  }

  #report(at: number, ms: number): void {
    if (this.#reported) return;
    this.#reported = true;
    this.#overdue(at, ms);
  }
}
