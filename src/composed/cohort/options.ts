import { checkKeys, checkMilliseconds } from "../../internal/validation.ts";

/** The options of `cohort()`. */
export interface CohortOptions {
  /**
   * How long the process hands the lock on among its own handles before it gives the lock back to the store, in
   * milliseconds, 1 to 2³¹ − 1. It then queues again behind everybody else. This changes the order: the handles of the
   * process overtake waiters of other processes for so long. A waiter of another process waits, for each cohort ahead of
   * it, up to `keep`, one section and one renewal longer. In numbers of sections that is not bounded.
   *
   * Where sections take as long as `keep` or longer, each handle waits in the queue of the store by itself, first come,
   * first served.
   *
   * @default {10}
   */
  keep?: number | undefined;
  /**
   * How long the process keeps the lock after its last release, for its next handle, in milliseconds, 0 to `keep`. It
   * does so within `keep`, and not when the store has said that others wait. Those who come meanwhile wait for so long.
   *
   * Do not use it where a process may be frozen or ended at any moment, as with a runtime that lives from request to
   * request: what it leaves while it lingers blocks others until the lease in the store ends. That is `linger` + 250 ms,
   * or the whole lease within the first millisecond. While it lingers, the process is kept alive; `dispose` gives the
   * lock back.
   *
   * @default {0}
   */
  linger?: number | undefined;
}

/** The options of `cohort()`, checked and with their defaults. */
export interface CohortSettings {
  readonly keep: number;
  readonly linger: number;
}

/** Checks the options of `cohort()` and fills in the defaults. */
export function checkCohortOptions(options: CohortOptions): CohortSettings {
  const { keep = 10, linger = 0 } = checkKeys(options, ["keep", "linger"]);
  checkMilliseconds("keep", keep, 1);
  checkMilliseconds("linger", linger, 0);
  if (linger > keep) throw new RangeError(`linger must not be more than keep, ${keep} ms: got ${linger}`);
  return { keep, linger };
}
