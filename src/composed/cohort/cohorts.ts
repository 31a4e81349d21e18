import type { HandoffSettings } from "../../internal/handoff/site.ts";
import type { LockTarget } from "../../target.ts";
import type { HandoffCohort } from "./cohort.ts";

/** A cohort, and what it was made of. */
interface Made {
  readonly parts: readonly object[];
  readonly settings: HandoffSettings;
  readonly cohort: HandoffCohort;
}

/**
 * The cohorts of each target, by the store, the client or the first client: who asks for the same target with the same
 * options gets the same cohort, since handles of two cohorts are strangers to each other.
 */
const made = new WeakMap<object, Made[]>();

/** Returns the cohort of a target; makes it if there is none. */
export function cohortOf(target: LockTarget, settings: HandoffSettings, make: () => HandoffCohort): HandoffCohort {
  const parts = partsOf(target);
  const known = (made.get(parts[0]!) ?? []).filter(({ cohort }) => !cohort.stopped);
  const same = known.find((each) =>
    each.settings.keep === settings.keep && each.settings.linger === settings.linger &&
    each.parts.length === parts.length && each.parts.every((part, i) => part === parts[i])
  );
  if (same !== undefined) return same.cohort;
  const cohort = make();
  made.set(parts[0]!, [...known, { parts, settings, cohort }]);
  return cohort;
}

function partsOf(target: LockTarget): readonly object[] {
  // An empty array is no target: whoever makes the store of it refuses it.
  return Array.isArray(target) && target.length > 0 ? target : [target];
}
