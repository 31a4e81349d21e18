import { type StoreFixture, storeSuite } from "@holdfast/testing";
import type { CohortOptions } from "@holdfast/lock/cohort";
import { checkCohortOptions } from "../../src/cohort/options.ts";
import { HandoffCohort } from "../../src/cohort/cohort.ts";
import { SystemClock } from "../../src/time/clock.ts";
import { connected, type Place, serve } from "../places/place.ts";
import { patient } from "../support/patient.ts";

/**
 * What only holds in one cohort: of another one, a process lists no handles that sleep; and a process that gives a lock
 * back after `keep` queues at the end.
 */
const OF_ONE = ["query() lists holders and waiters", "attempt() grants the lock only to the first of the queue"];

/** Defines the suite of stores, or a part of it, on several cohorts of a place, as in several processes. */
export function cohortsSuite(place: Place, options: CohortOptions = {}, part = /^/): void {
  const test = (name: string, fn: () => Promise<void>) => {
    const ignore = place.ignore ?? false;
    if (part.test(name) && !OF_ONE.some((each) => name.startsWith(each))) {
      Deno.test({ name: `cohorts of ${place.of}: ${name}`, ignore, fn });
    }
  };
  define(place, test, async (fixture, cohorts) => {
    const cohort = made(await connected(fixture), options);
    cohorts.push(cohort);
    return cohort;
  });
}

/** Defines the suite of stores on the one cohort of a process. */
export function cohortSuite(place: Place, options: CohortOptions): void {
  const test = (name: string, fn: () => Promise<void>) => {
    Deno.test(`cohort ${JSON.stringify(options)} of ${place.of}: ${name}`, fn);
  };
  define(place, test, async (fixture, cohorts) => cohorts[0] ??= made(await fixture.connect(), options));
}

type Connect = (fixture: StoreFixture, cohorts: HandoffCohort[]) => Promise<HandoffCohort>;

function define(place: Place, test: (name: string, run: () => Promise<void>) => void, connect: Connect): void {
  serve(place);
  storeSuite({
    test,
    capabilities: place.capabilities,
    open: async () => {
      const fixture = await place.open();
      const cohorts: HandoffCohort[] = [];
      const dispose = async () => void await Promise.all(cohorts.map((each) => each[Symbol.asyncDispose]()));
      const { restart } = fixture;
      return {
        connect: () => connect(fixture, cohorts),
        leftovers: async () => {
          await dispose();
          return [...await fixture.leftovers!(), ...cohorts.flatMap(({ names }) => names)];
        },
        ...restart === undefined ? {} : { restart },
        close: async () => {
          await dispose();
          await fixture.close();
        },
      };
    },
  });
}

/** Makes a cohort that nobody shares. */
function made(store: Parameters<typeof patient>[0], options: CohortOptions): HandoffCohort {
  return new HandoffCohort(patient(store), new SystemClock(), checkCohortOptions(options));
}
