import { fenceOrder } from "../exclusion.ts";
import { excused, type Grant, type History, type Release, type Write } from "./history.ts";

/** A rule of the fenced, owner-aware mutex: each has a function here, but one that `check()` has. */
export type Rule =
  | "fence is unique"
  | "fences rise"
  | "only the owner releases"
  | "one holder at a time"
  | "stale writes are refused"
  | "no update is lost"
  | "fences are granted";

/** What must not be in a history, and where it is. */
export interface Violation {
  readonly rule: Rule;
  readonly lock: string;
  /** When it happened, by the clock of the history. */
  readonly at: number;
  /** The entries that contradict each other. */
  readonly entries: readonly unknown[];
}

/** Returns the violation of a rule by entries of one lock. */
export function violation(rule: Rule, at: number, ...entries: readonly { readonly lock: string }[]): Violation {
  return { rule, lock: entries[0]!.lock, at, entries };
}

/** Returns the grants of one lock, in the order of their fences, in which two are the same. */
export function fenceIsUnique(byFence: readonly Grant[]): Violation[] {
  return byFence.flatMap((grant, i) => {
    const before = byFence[i - 1];
    if (before === undefined || fenceOrder(before, grant) !== "repeats") return [];
    return [violation("fence is unique", Math.max(before.end, grant.end), before, grant)];
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
    if (highest !== undefined && fenceOrder(highest, grant) === "falls") {
      violations.push(violation("fences rise", grant.end, highest, grant));
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
    const grant = owners.get(release.owner);
    const next = grant && later.get(grant);
    let wrong: (Grant | Release)[] = [];
    if (grant === undefined || grant.lock !== release.lock || grant.end > release.end) wrong = [release];
    else if (done.has(release.owner)) wrong = [grant, release];
    else if (next !== undefined && next.end < release.start && !excused(grant, next, breaches)) {
      wrong = [grant, next, release];
    }
    if (wrong.length > 0) violations.push(violation("only the owner releases", release.end, ...wrong));
    done.add(release.owner);
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

/** Returns the writes that were accepted after one with a larger fence. */
export function staleWritesAreRefused(writes: readonly Write[]): Violation[] {
  const highest = new Map<string, Write>();
  return writes.filter(({ accepted }) => accepted).flatMap((write) => {
    const before = highest.get(write.lock) ?? write;
    if (fenceOrder(before, write) === "falls") return [violation("stale writes are refused", write.at, before, write)];
    highest.set(write.lock, write);
    return [];
  });
}

/** Returns the writes that were accepted although they do not raise by one what was accepted before them. */
export function noUpdateIsLost(writes: readonly Write[]): Violation[] {
  const last = new Map<string, Write>();
  return writes.filter(({ accepted }) => accepted).flatMap((write) => {
    const before = last.get(write.lock);
    last.set(write.lock, write);
    if (write.value === (before?.value ?? 0) + 1) return [];
    return [violation("no update is lost", write.at, ...before === undefined ? [] : [before], write)];
  });
}

/** Returns the writes with a fence that nobody was granted. */
export function fencesAreGranted({ grants, writes }: History): Violation[] {
  const granted = new Set(grants.map(({ lock, fence }) => `${fence} ${lock}`));
  return writes.filter(({ lock, fence }) => !granted.has(`${fence} ${lock}`))
    .map((write) => violation("fences are granted", write.at, write));
}
