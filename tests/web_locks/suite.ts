import { deadline } from "@std/async";
import type { Store } from "@holdfast/lock";
import { LockManager } from "@holdfast/lock/web-locks";
import { connected, empty, type Place, serve } from "../places/place.ts";
import { patient } from "../support/patient.ts";
import { HANG_MS } from "../support/until.ts";
import { ABORTING } from "./aborting.ts";
import { ARGUMENTS } from "./arguments.ts";
import { AVAILABLE } from "./available.ts";
import { GRANTING } from "./granting.ts";
import { type Locks, releases, type Steps } from "./place.ts";
import { QUERYING } from "./querying.ts";
import { STEALING } from "./stealing.ts";

/** What stores lack that ask for each name, or for each waiter, by itself: see `docs/web_locks.md`. */
export const ACROSS_NAMES = "requests for different names that are free are called back in their order";
export const TOGETHER = "shared requests that are granted together are called back in their order";

/** Where the locks of one test are kept, opened for each test. */
export interface Fixture {
  /** Another lock manager of this place. */
  connect(): Locks;
  /** Fails if anything is left, and closes the place. */
  close(): void | Promise<void>;
}

/** What {@linkcode webLocksSuite} takes. */
export interface SuiteOptions {
  /** What is tested, for the names of the tests. */
  of: string;
  open: () => Fixture | Promise<Fixture>;
  /** The tests that do not hold there. They are not defined. */
  without?: readonly string[];
  /** Whether the tests are skipped, because what they need is missing. */
  ignore?: boolean;
}

/** Defines the tests: the steps of the specification's algorithms. */
export function webLocksSuite({ of, open, without = [], ignore = false }: SuiteOptions): void {
  const all: Steps = { ...ARGUMENTS, ...GRANTING, ...AVAILABLE, ...STEALING, ...ABORTING, ...QUERYING };
  for (const [step, run] of Object.entries(all)) {
    if (without.includes(step)) continue;
    Deno.test({
      name: `${of}: ${step}`,
      ignore,
      fn: async () => {
        const fixture = await open();
        try {
          const place = { connect: () => fixture.connect(), name: crypto.randomUUID() };
          await deadline(Promise.resolve(run(place)), HANG_MS);
        } catch (error) {
          // What waits on for these locks would fail the later tests of the file.
          for (const release of releases) release();
          throw error;
        } finally {
          releases.length = 0;
          await fixture.close();
        }
      },
    });
  }
}

/** Defines the tests on the stores of a place, which are made at once; or over what a function makes of each. */
export function webLocksOn(place: Place, without: readonly string[] = [], over = (store: Store): Store => store): void {
  serve(place);
  webLocksSuite({
    of: `LockManager on ${over.name === "cohort" ? "a cohort of " : ""}${place.of}`,
    without,
    ignore: place.ignore ?? false,
    open: async () => {
      const fixture = await place.open();
      await connected(fixture);
      return {
        connect: () => new LockManager(patient(over(fixture.connect() as Store))),
        close: async () => {
          try {
            await empty(fixture);
          } finally {
            await fixture.close();
          }
        },
      };
    },
  });
}
