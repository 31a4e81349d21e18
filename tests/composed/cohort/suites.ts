import type { Store } from "@holdfast/lock";
import type { CohortOptions } from "@holdfast/lock/cohort";
import { checkCohortOptions } from "../../../src/composed/cohort/options.ts";
import { CohortStore } from "../../../src/composed/cohort/store.ts";
import { SystemClock } from "../../../src/internal/clock.ts";

/** What a cohort of a store with all capabilities declares. */
export const FULL = ["shared", "permits", "owner", "steal", "evict", "query"] as const;

/** Makes a cohort that nobody shares. */
export function made(store: Store, options: CohortOptions): CohortStore {
  return new CohortStore(store, checkCohortOptions(options), new SystemClock());
}

/** Defines the tests of several cohorts. Of another one, a process lists only the ids under which that asks. */
export function ofSeveral(what: string): (name: string, run: () => Promise<void>) => void {
  return (name, run) => {
    if (!name.startsWith("query() lists holders and waiters")) Deno.test(`${what}: ${name}`, run);
  };
}

/** Disposes of them all. */
export async function dispose(cohorts: readonly CohortStore[]): Promise<void> {
  await Promise.all(cohorts.map((each) => each[Symbol.asyncDispose]()));
}
