import type { Store } from "@holdfast/lock";
import type { CohortOptions } from "@holdfast/lock/cohort";
import { checkCohortOptions } from "../../src/cohort/options.ts";
import { HandoffCohort } from "../../src/cohort/cohort.ts";
import { SystemClock } from "../../src/time/clock.ts";

/** What a cohort of a store with all capabilities declares. */
export const FULL = ["shared", "permits", "owner", "steal", "evict", "query"] as const;

/** Makes a cohort that nobody shares. */
export function made(store: Store, options: CohortOptions): HandoffCohort {
  return new HandoffCohort(store, new SystemClock(), checkCohortOptions(options));
}

/**
 * What only holds in one cohort: of another one, a process lists no handles that sleep; and a process that gives a lock back
 * after `keep` queues at the end.
 */
const OF_ONE = ["query() lists holders and waiters", "attempt() grants the lock only to the first of the queue"];

/** Defines the tests of several cohorts. */
export function ofSeveral(what: string): (name: string, run: () => Promise<void>) => void {
  return (name, run) => {
    if (!OF_ONE.some((each) => name.startsWith(each))) Deno.test(`${what}: ${name}`, run);
  };
}

/** Disposes of them all. */
export async function dispose(cohorts: readonly HandoffCohort[]): Promise<void> {
  await Promise.all(cohorts.map((each) => each[Symbol.asyncDispose]()));
}
