import { excluded, holds } from "../exclusion.ts";
import { type Breach, excused, type Grant, type History } from "./history.ts";
import { fenceIsUnique, fencesAreGranted, fencesRise, noUpdateIsLost } from "./rules.ts";
import { onlyTheOwnerReleases, staleWritesAreRefused, type Violation, violation } from "./rules.ts";

/** What a history comes to. */
export interface Verdict {
  /** In the order of time. */
  readonly violations: readonly Violation[];
  /** How often somebody got the lock while another one still acted on it, with or without a breach. */
  readonly doubleHolders: number;
}

/**
 * Decides whether a fenced, owner-aware mutex allows a history: whether every grant and every successful release can be
 * given a moment between its call and its return, such that nobody is granted the lock while another holder has it. A
 * holder that does not release loses the lock at some moment after it last found that it had it.
 *
 * In general that takes a search. Here the fences give the order of the grants, so that it is enough to take each
 * moment as early as it can be: a grant that would have to come after its own return is one too many. What is left to
 * check besides is that the order of the fences is one that real time allows.
 *
 * A pair of holders is excused when there was a breach between the first one's call and the second one's grant; fences
 * and resources never are.
 */
export function check(history: History): Verdict {
  const violations: Violation[] = [];
  let doubleHolders = 0;
  for (const grants of Map.groupBy(history.grants, ({ lock }) => lock).values()) {
    const byFence = grants.toSorted((a, b) => a.fence < b.fence ? -1 : a.fence > b.fence ? 1 : a.start - b.start);
    violations.push(...fenceIsUnique(byFence), ...fencesRise(grants));
    violations.push(...oneHolderAtATime(byFence, history.breaches));
    doubleHolders += pairs(byFence, ({ acted }) => acted).length;
  }
  violations.push(...onlyTheOwnerReleases(history));
  violations.push(...staleWritesAreRefused(history.writes), ...noUpdateIsLost(history.writes));
  violations.push(...fencesAreGranted(history));
  return { violations: violations.sort((a, b) => a.at - b.at), doubleHolders };
}

function oneHolderAtATime(byFence: readonly Grant[], breaches: readonly Breach[]): Violation[] {
  return pairs(byFence, ({ believed }) => believed)
    .filter(([first, second]) => !excused(first, second, breaches))
    .map(([first, second]) => violation("one holder at a time", second.end, first, second));
}

/** Returns the grants of which the second returned while the first was still believed, by the measure of `until`. */
function pairs(byFence: readonly Grant[], until: (grant: Grant) => number): [Grant, Grant][] {
  // From each place on, the earliest return: what is over by then cannot contradict anything that follows.
  const earliest: number[] = [];
  for (let i = byFence.length - 1; i >= 0; i--) earliest[i] = Math.min(byFence[i]!.end, earliest[i + 1] ?? Infinity);
  const found: [Grant, Grant][] = [];
  let open: Grant[] = [];
  for (const [i, second] of byFence.entries()) {
    // Whoever was called after the other had returned did not overlap it: then the fences are in the wrong order.
    const others = open.filter((first) => holds({ start: first.start, until: until(first) }, second.end));
    for (const first of excluded({ kind: "exclusive" }, others)) found.push([first, second]);
    open.push(second);
    open = open.filter((grant) => until(grant) > (earliest[i + 1] ?? Infinity));
  }
  return found;
}
