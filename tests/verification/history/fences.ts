import { excused, type Grant, type History } from "./history.ts";
import type { Violation } from "./violation.ts";

/** Returns the grants of one lock, in the order of their fences, in which two are the same. */
export function fenceIsUnique(byFence: readonly Grant[]): Violation[] {
  return byFence.flatMap((grant, i) => {
    const before = byFence[i - 1];
    if (before?.fence !== grant.fence) return [];
    return [{
      rule: "fence is unique",
      lock: grant.lock,
      at: Math.max(before.end, grant.end),
      entries: [before, grant],
    }];
  });
}

/** Returns the grants of one lock that were called after one with a larger fence had returned. */
export function fencesRise(grants: readonly Grant[]): Violation[] {
  const byEnd = grants.toSorted((a, b) => a.end - b.end);
  let returned = 0;
  let highest: Grant | undefined;
  const violations: Violation[] = [];
  for (const grant of grants.toSorted((a, b) => a.start - b.start)) {
    for (; byEnd[returned] !== undefined && byEnd[returned]!.end < grant.start; returned++) {
      if (highest === undefined || byEnd[returned]!.fence > highest.fence) highest = byEnd[returned]!;
    }
    if (highest !== undefined && highest.fence > grant.fence) {
      violations.push({ rule: "fences rise", lock: grant.lock, at: grant.end, entries: [highest, grant] });
    }
  }
  return violations;
}

/**
 * Returns the releases that succeeded although the lock was not held by this owner, or that of another one, since its
 * grant.
 */
export function onlyTheOwnerReleases({ grants, releases, breaches }: History): Violation[] {
  const owners = new Map(grants.map((grant) => [grant.owner, grant]));
  const later = firstLater(grants);
  const done = new Set<string>();
  const violations: Violation[] = [];
  for (const release of releases.filter(({ outcome }) => outcome === "released")) {
    const { lock, owner } = release;
    const grant = owners.get(owner);
    const violate = (...entries: unknown[]) => {
      violations.push({ rule: "only the owner releases", lock, at: release.end, entries });
    };
    if (grant === undefined || grant.lock !== lock || grant.end > release.end) violate(release);
    else if (done.has(owner)) violate(grant, release);
    else {
      const next = later.get(grant);
      if (next !== undefined && next.end < release.start && !excused(grant, next, breaches)) {
        violate(grant, next, release);
      }
    }
    done.add(owner);
  }
  return violations;
}

/** Returns for each grant the one that returned first of those of its lock that have a larger fence. */
function firstLater(grants: readonly Grant[]): Map<Grant, Grant> {
  const found = new Map<Grant, Grant>();
  const first = new Map<string, Grant>();
  for (const grant of grants.toSorted((a, b) => a.fence < b.fence ? 1 : -1)) {
    const next = first.get(grant.lock);
    if (next !== undefined) found.set(grant, next);
    if (next === undefined || grant.end < next.end) first.set(grant.lock, grant);
  }
  return found;
}
