/** What processes of a rolling release lock. */
export const NAME = "a";

/** The lease of each lock, in milliseconds. */
export const LEASE_MS = 2_000;

/** The stream of entries into sections and exits. */
export const LOG = "resource:log";

/** The hash of the resource that checks fences: its value, the fence, and how many writes were accepted. */
export const REGISTER = "resource:register";

/** The libraries that a program moves from. */
export type Library = "redlock" | "redis-semaphore";

/** What a process locks with: the old library, the drop-in for it, or `acquire`. */
export type WorkerKind = "old" | "compat" | "ours";
