/**
 * The numbers and words of the scripts and of the code that calls them: `$NAME` in a .lua file stands for the constant
 * of that name here. `deno task scripts` fills them in.
 *
 * @module
 */

/** The longest time between two attempts of a waiter: what a lost wake-up can cost. */
export const POLL_MS = 5_000;

/** How long a server may take to answer on a second connection, in milliseconds, before another connection is made. */
export const ANSWER_MS = POLL_MS;

/** The longest time between two attempts of the head of the queue while a program that notifies nobody holds it. */
export const FOREIGN_POLL_MS = 200;

/** How long a waiter may be silent before it is dead: three missed polls. The queue of a lock expires then as well. */
export const WAITER_TIMEOUT_MS = 3 * POLL_MS;

/** How far apart waiters ask again, so that the head of the queue comes first. */
export const RANK_STEP_MS = 20;

/**
 * How long a lock is reserved for the waiter whose turn it is: many round trips, and a short break for the others if
 * that waiter has died unnoticed. At most the lease of the handle that serves the queue.
 */
export const RESERVATION_MS = 1_500;

/** The shortest reservation, for a distant waiter. */
export const MIN_RESERVATION_MS = 250;

/** How many waiters at the head of the queue are checked together. */
export const QUEUE_WINDOW = 8;

/** The largest run: how many handles of one process, after the first, are granted a lock together. */
export const MAX_RUN = 100;

/** How far the last fence of a block may be ahead of the server's clock in µs, unless the first fence is. */
export const BLOCK_LEAD_US = 10_000;

/** How long a fence is kept after the server's clock has reached it: seven days. */
export const FENCE_TTL_MS = 604_800_000;

/** How long the last fence of a block is kept: until seven days after the clock has reached it. */
export const BLOCK_TTL_MS = FENCE_TTL_MS + BLOCK_LEAD_US / 1_000;

/** The lease that a sole holder gets beside others when somebody has made its key persistent: seven days. */
export const PERSISTED_LEASE_MS = 604_800_000;

/** The highest fence, 2^53 - 1: Lua counts no further. */
export const MAX_FENCE = Number.MAX_SAFE_INTEGER;

/** The first character of a wake-up: it is the turn of the waiter, or the waiter is the next in the queue. */
export const TURN = "!";
export const NEXT = "?";

/** The first character of an address where an unreceived message proves that the client of the waiter is gone. */
export const PROVABLE = "!";

/** The first character of an address where an unreceived message proves nothing: the server may not see its client. */
export const UNPROVABLE = "?";

/** The channel on which all clients receive the handles whose locks were revoked. */
export const REVOCATIONS = "holdfast:evicted";
