import type { Grant } from "../../verification/history/history.ts";
import type { FaultTimes, Span } from "./fault_times.ts";

/** For how long the waiters of a dead store object may keep others waiting, in milliseconds: one turn. */
export const TURN_MS = 2_000;

/** A holder that died with its lock, and when. */
export interface DeadHolder {
  readonly lock: string;
  readonly fence: bigint;
  readonly at: number;
}

/** A call that was told that a lock is busy. */
export interface Refusal extends Span {
  readonly lock: string;
}

/** How soon somebody is granted the lock of a dead holder, counted from the first caller that asks after the death. */
export interface Succession {
  readonly leases: number;
  /** In milliseconds, besides. */
  readonly ms: number;
  /** Whether clocks of processes are compared, so that a wrong one may make it later. */
  readonly byClocks?: boolean;
}

/** What is known of dead holders. */
export interface Deaths {
  readonly dead: readonly DeadHolder[];
  readonly grants: readonly Grant[];
  readonly refusals: readonly Refusal[];
  /** When processes were killed, and how many store objects of each want a lock. */
  readonly kills: readonly Span[];
  readonly storesOf: (lock: string) => number;
  /** In milliseconds. */
  readonly lease: number;
  readonly succession: Succession;
  /** When anything else happened. */
  readonly faultTimes: FaultTimes;
}

/** Returns the first call for the lock of each dead holder that was refused, or still waited, when it was too late. */
export function unsucceeded(deaths: Deaths): { readonly at: number; readonly what: string }[] {
  const { dead, grants, refusals, kills, storesOf, lease, succession, faultTimes } = deaths;
  const grantsOf = Map.groupBy(grants, ({ lock }) => lock);
  const refusalsOf = Map.groupBy(refusals, ({ lock }) => lock);
  return dead.flatMap(({ lock, fence, at }) => {
    if (succession.byClocks && faultTimes.quiet(at - lease, at) < lease) return [];
    const later = (grantsOf.get(lock) ?? []).filter((grant) => grant.fence > fence).sort((a, b) => a.end - b.end);
    const granted = later[0]?.end ?? Infinity;
    const calls = [...later.slice(0, 1), ...refusalsOf.get(lock) ?? []]
      .filter(({ end }) => end > at && end <= granted)
      .sort((a, b) => a.end - b.end);
    const asked = calls.reduce((first, { start }) => Math.max(at, Math.min(first, start)), Infinity);
    const turns = kills.filter(({ start, end }) => start <= granted && end >= at).length * storesOf(lock);
    const most = succession.leases * lease + succession.ms + turns * TURN_MS;
    const late = calls.find(({ start, end }) => {
      // Whoever came later and was granted the lock has done what the others could not.
      return faultTimes.quiet(asked, end) > most && (end < granted || faultTimes.quiet(asked, start) <= most);
    });
    if (late === undefined) return [];
    const ms = faultTimes.quiet(asked, late.end).toFixed(0);
    return [{ at: late.end, what: `lock ${lock} of a dead holder was granted to nobody for ${ms} ms` }];
  });
}
