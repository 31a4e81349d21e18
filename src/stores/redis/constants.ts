/**
 * The numbers and words of the scripts, and of what speaks with them: `$NAME` in a .lua file stands for the constant of
 * that name here. `deno task scripts` fills them in.
 *
 * @module
 */

/** The longest time between two attempts of a waiter: what a lost wake-up can cost. */
export const POLL_MS = 5_000;

/** The same for the head of the queue while another program, which notifies nobody, has the lock. */
export const FOREIGN_POLL_MS = 200;

/** A waiter that has not asked for so long is dead, and the queue of a lock expires then as well: three polls missed. */
export const WAITER_TIMEOUT_MS = 3 * POLL_MS;

/** How far apart waiters ask again, so that the head of the queue comes first. */
export const RANK_STEP_MS = 20;

/**
 * How long a lock is reserved for the waiter whose turn it is: many round trips, and a short break for the others if
 * that waiter has died unnoticed. Not longer than the lease of whoever serves the queue.
 */
export const RESERVATION_MS = 1_500;

/** How long it is reserved at least, for a distant waiter. */
export const MIN_RESERVATION_MS = 250;

/** How many waiters behind the head of the queue are looked at together. */
export const QUEUE_WINDOW = 8;

/** How many handles of one process, behind the first, are granted a lock together at most. */
export const MAX_RUN = 100;

/** How far the last fence of a block may be ahead of the server's clock in µs, unless the first one is. */
export const BLOCK_LEAD_US = 10_000;

/** How long a fence is kept after the server's clock has reached it: seven days. */
export const FENCE_TTL_MS = 604_800_000;

/** How long the last fence of a block is kept: until seven days after the clock has reached it. */
export const BLOCK_TTL_MS = FENCE_TTL_MS + BLOCK_LEAD_US / 1_000;

/** The lease that a sole holder gets beside others when somebody has made its key persistent: seven days. */
export const PERSISTED_LEASE_MS = 604_800_000;

/** The highest fence, 2^53 - 1: Lua counts no further. */
export const MAX_FENCE = Number.MAX_SAFE_INTEGER;

/** The first character of a wake-up to the waiter whose turn it is. */
export const TURN = "!";

/** The first character of a wake-up to the waiter that is the next one. */
export const NEXT = "?";

/** The first character of the address of a waiter whose client is gone if nobody receives a message there. */
export const PROVABLE = "!";

/** The first character of the address of a waiter about whom that proves nothing: the server may not see its client. */
export const UNPROVABLE = "?";

/** The channel on which all clients receive the handles whose locks were revoked. */
export const REVOCATIONS = "holdfast:evicted";
