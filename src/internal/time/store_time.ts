import type { Instant } from "./clock.ts";

/**
 * Returns when something happened in this process by the clock of the store, in milliseconds since the Unix epoch.
 *
 * @param moment when it happened
 * @param known another moment, as the store says; `undefined` if it does not: then the clock of this process has to do
 * @param at that other moment by the clocks of this process
 */
export function onStoreClock(moment: Instant, known: number | undefined, at: Instant): number {
  if (known === undefined) return moment.wall;
  return Math.round(known + (moment.monotonic - at.monotonic));
}
