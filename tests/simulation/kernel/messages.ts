import type { Random } from "./random.ts";

/** How bad a network is: probabilities, for each message. */
export interface Quality {
  readonly lost: number;
  readonly doubled: number;
  readonly delayed: number;
  /** How long a message that is delayed takes at the most, in milliseconds: past time-outs, past whole leases. */
  readonly longest: number;
}

/** How long a message takes, in milliseconds: from the lower to the upper bound. */
export const USUAL = [0.1, 2] as const;

/** How long a client takes to notice that a request or its connection is gone, in milliseconds. */
export const NOTICED = [0.1, 300] as const;

/** How long a message that is delayed takes at the least, in milliseconds. */
const HELD_UP = 2;

/** Returns how long a message takes that is delayed, in milliseconds. */
export function delayed(random: Random, { longest }: Quality): number {
  return random.spread(HELD_UP, longest);
}
