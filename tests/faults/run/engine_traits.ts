import type { Traits } from "./deployment.ts";

/** What is particular to the engine on a server that notifies of nothing. */
export const POLLED_ENGINE: Traits = {
  runs: true,
  executesLate: false,
  keepsTurns: false,
  waiterTimeout: 15_000,
  // Without a server's clock a lease is watched before it is over, and so are the turns of waiters that are gone.
  idle: 8_000,
  succession: { leases: 1.5, ms: 2_000 },
  // The call of a waiter whose write was refused pauses for up to 2 s.
  givenBack: 2_500,
  // A write is two trips, or waits for the disk, and must be answered within a third of the lease.
  stall: 50,
  // Waiters look every 50 to 500 ms.
  pace: [500, 750],
};

/** What is particular to the engine on a server that notifies waiters. */
export const WOKEN_ENGINE: Traits = { ...POLLED_ENGINE, pace: [100, 500] };
