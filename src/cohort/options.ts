import type { HandoffSettings } from "../handoff/context.ts";
import { checkKeys, checkMilliseconds } from "../internal/validation.ts";

/** The options of `cohort()`. */
export interface CohortOptions {
  /**
   * For how long after a grant of the store the process hands the lock on among its own handles, ahead of the waiters
   * of other processes, in milliseconds, 1 to 2³¹ − 1. Only the reserved fences limit how many sections run in that
   * time: 1,000 for each millisecond of `keep`, 10,000 at most.
   *
   * When a section has lasted `keep`, each handle has a place of its own in the queue of the store, first come, first
   * served. This ends with a grant under which every section was shorter.
   *
   * @default {10}
   */
  keep?: number | undefined;
  /**
   * For how long after its last release the process keeps the lock for its next handle, in milliseconds, 0 to `keep`.
   * It never lingers for longer than `keep` after the grant.
   *
   * If the store has reported at the grant that others wait, the process keeps the lock only for a handle that acquires
   * it again right behind its release: within microtasks, before the process turns to its next timer or message. So a
   * loop without other work between two sections goes on for `keep`; then the other waiters are served. Waiters that
   * come after the grant wait until the process gives the lock back.
   *
   * Do not use it where a process may be frozen or ended at any moment, as in a request-bound runtime: the lock then
   * blocks others until its lease in the store ends. The lease then ends after `linger` and 250 ms; but only after its
   * whole length if the process ends within the first millisecond. While it lingers, the process stays alive. Dispose
   * of the cohort before you close the client or exit; otherwise others wait until the lease ends, also after `await
   * lock.release()`.
   *
   * @default {0}
   */
  linger?: number | undefined;
}

export function checkCohortOptions(options: CohortOptions): HandoffSettings {
  const { keep = 10, linger = 0 } = checkKeys(options, ["keep", "linger"]);
  checkMilliseconds("keep", keep, 1);
  checkMilliseconds("linger", linger, 0);
  if (linger > keep) throw new RangeError(`linger must not be more than keep, ${keep} ms: got ${linger}`);
  return { keep, linger };
}
