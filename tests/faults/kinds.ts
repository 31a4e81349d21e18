/** How many may hold the semaphore of the worker processes. */
export const PERMITS = 3;

/** The accounts between which worker processes move money. */
export const ACCOUNTS: readonly string[] = ["1", "2", "3", "4", "5", "6"];
