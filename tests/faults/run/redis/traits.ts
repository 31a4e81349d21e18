import { WAITER_TIMEOUT_MS } from "../../../../src/stores/redis/constants.ts";
import type { Traits } from "../deployment.ts";

/** A text that each request has which runs a script, whatever the client: the beginning of a key. */
export const REQUEST = "lock:";

/** What is particular to the store on Redis. */
export const TRAITS: Traits = {
  runs: true,
  executesLate: false,
  keepsTurns: false,
  waiterTimeout: WAITER_TIMEOUT_MS,
  // A wake-up was lost when something was, so that it takes until the next poll, of 5 s; then it is reserved, for 1.5 s
  // each, for two who are gone.
  idle: 8_000,
  succession: { leases: 1.5, ms: 2_000 },
  givenBack: 500,
  stall: 200,
  pace: [50, 250],
};

/** What the REST front before a server wants to be told. */
export const TOKEN = "token-of-the-run";

/** The same where requests overtake each other, and turns are kept for dead waiters. */
export const KEPT_TURNS: Traits = {
  ...TRAITS,
  executesLate: true,
  keepsTurns: true,
  succession: { leases: 1.5, ms: 2_000 + WAITER_TIMEOUT_MS },
};

/** The same over HTTP: waiters poll, so that a dead one cannot be told from others. */
export const OVER_HTTP: Traits = { ...KEPT_TURNS, pace: [500, 1_000] };
