import { checkKeys } from "../internal/validation.ts";
import { checkAcquireOptions } from "../lock/options.ts";

/** Options of a {@linkcode LockManager}. */
export interface LockManagerOptions {
  /**
   * How long a lock outlives a holder that has died, in milliseconds, 10 to 2³¹ − 1.
   *
   * @default {30_000}
   */
  lease?: number | undefined;
  /**
   * Whether to extend the lease while the callback runs: every third of it, or at this interval in milliseconds. With
   * `false` the lock is lost when its lease ends.
   *
   * @default {true}
   */
  renew?: boolean | number | undefined;
}

export function checkLockManagerOptions(options: LockManagerOptions): LockManagerOptions {
  const { lease, renew } = checkKeys(options, ["lease", "renew"]);
  checkAcquireOptions({ lease, renew });
  return { lease, renew };
}
