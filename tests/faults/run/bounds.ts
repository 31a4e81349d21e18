import { RELEASE_LIMIT_MS } from "../../../src/contract/release.ts";
import type { Grant, Release } from "../../verification/history/history.ts";
import { TURN_MS } from "./dead_holders.ts";
import type { Traits } from "./deployment.ts";
import { FaultTimes, type Span } from "./fault_times.ts";
import type { Remains } from "./work.ts";

/** How many handoffs, and how many looks at what is left, there must be before it means anything. */
const [ENOUGH, LOOKS] = [20, 20];

/** A handoff takes a few trips over the ways that are disturbed; the register is reached directly. */
const TRIPS = 30;

/** What the bounds are checked on. */
export interface Observed {
  readonly grants: readonly Grant[];
  readonly releases: readonly Release[];
  /** What was found when it was looked at what is left. */
  readonly remains: readonly Remains[];
  /** When data was lost, so that what was released may be there again. */
  readonly breaches: readonly Span[];
  /** When a server deleted some of the keys that belong together. */
  readonly evictions: readonly Span[];
  /** How long trips to a server that nothing happens to took, in milliseconds. */
  readonly trips: readonly number[];
  readonly lease: number;
  /** When workers were killed, and how many store objects of each want a lock. */
  readonly kills: readonly Span[];
  readonly storesOf: (lock: string) => number;
  readonly traits: Traits;
  readonly faultTimes: FaultTimes;
}

/** A bound that was not kept, and when. */
export interface Excess {
  readonly at: number;
  readonly what: string;
}

/** Returns all bounds that were not kept. */
export function excesses(observed: Observed): Excess[] {
  return [...left(observed), ...losses(observed), ...waits(observed), ...pace(observed)];
}

/** Returns what was left of acquires that were over: at once after a release that was answered, or for long. */
function left({ remains, breaches, evictions, lease, storesOf, traits, faultTimes }: Observed): Excess[] {
  const looked = remains.filter(({ atOnce }) => atOnce !== undefined).length;
  const released = remains.filter(({ end }) => end === "released").length;
  const blind: Excess[] = released >= LOOKS && looked === 0
    ? [{ at: remains[0]!.since, what: `of ${released} releases none could be looked at` }]
    : [];
  return blind.concat(remains.flatMap((each): Excess[] => {
    const { lock, end, from, since, at, atOnce, held, until, gone } = each;
    // A waiter whose queue was evicted can get the lock past it. What else was kept of the waiter goes with the
    // others'.
    if (!held && evictions.some((eviction) => eviction.start <= since && eviction.end >= from)) return [];
    const lost = breaches.some((breach) => breach.start <= until && breach.end >= since - 1_000);
    const late = traits.executesLate && each.unanswered;
    if (atOnce === true && !lost && !late) {
      return [{ at, what: `lock ${lock} was left after a release that was answered` }];
    }
    // A waiter that has left and is in the queue again is dead. It is skipped when those ahead of it have had the lock.
    if (!held && lost && gone) return [];
    // A place that no try of its release could reach is dropped when its waiter has not attempted for so long.
    const tried = faultTimes.quiet(since, since + RELEASE_LIMIT_MS) > 0;
    if (!held && !tried && gone && until - since <= traits.waiterTimeout) return [];
    const quiet = faultTimes.quiet(since, until);
    // Where many store objects write one document, the place is given back when its turn comes, at the latest.
    const turns = !held && storesOf(lock) > 1 ? storesOf(lock) * TURN_MS : 0;
    // When faults act all the time, as on a slow machine, nothing says how long: what stays is found at the end.
    if (quiet <= traits.givenBack + (late ? lease : 0) + turns && (gone || lost || quiet === 0)) return [];
    const ms = (until - since).toFixed(0);
    const what = held ? `lock ${lock}` : `a place for lock ${lock}`;
    return [{ at: until, what: `${what} was left for ${ms} ms after an acquire that ended: ${end}` }];
  }));
}

/** Returns the locks that were lost although nothing was done that could be the reason. */
function losses({ grants, releases, faultTimes, lease }: Observed): Excess[] {
  const ends = new Map(releases.map((release) => [release.owner, release]));
  return grants.flatMap((grant): Excess[] => {
    const release = ends.get(grant.owner);
    if (release?.outcome !== "lost") return [];
    // What made it lose the lock happened after its last renewal that worked.
    const [from, at] = [Math.max(grant.start, grant.believed - lease), release.start];
    if (faultTimes.quiet(from, at) < at - from) return [];
    return [{ at, what: `lock ${grant.lock} was lost, and nothing had happened (${release.why ?? ""})` }];
  });
}

/** Returns the waits of which too long a part cannot be explained by those ahead and by what has been done. */
function waits({ grants, releases, kills, storesOf, traits, faultTimes }: Observed): Excess[] {
  const ends = new Map(releases.map((release) => [release.owner, release.end]));
  const { keepsTurns, waiterTimeout, idle: most } = traits;
  // The lock is reserved, in turn, for the waiters of a process that was killed, until they have not asked for so long.
  const unasked = keepsTurns ? kills.map(({ start, end }) => ({ start, end: end + waiterTimeout })) : [];
  return [...Map.groupBy(grants, ({ lock }) => lock)].flatMap(([lock, all]) => {
    const held = all.map(({ owner, start, end, believed }) => {
      return { came: start, start: end, end: ends.get(owner) ?? believed };
    });
    const anybodys = new FaultTimes(held, 0);
    const idle = all.flatMap((waiter) => faultTimes.free(waiter)).flatMap((span) => anybodys.free(span));
    const turns = storesOf(lock) > 1 ? deadTurns(kills, storesOf(lock) * TURN_MS, idle) : [];
    const reserved = [...unasked, ...turns];
    return all.flatMap(({ start, end }): Excess[] => {
      if (faultTimes.quiet(start, end) <= most) return [];
      const idle = faultTimes.free({ start, end }).reduce((sum, { start, end }) => {
        // Until then faults may have changed their order. From then on nobody overtakes it.
        const ahead = [...held.filter(({ came }) => came <= start), ...reserved];
        return sum + new FaultTimes(ahead, 0).quiet(start, end);
      }, 0);
      if (idle <= most) return [];
      return [{
        at: end,
        what: `a waiter for lock ${lock} waited ${idle.toFixed(0)} ms while nobody ahead of it had it`,
      }];
    });
  });
}

/**
 * Returns when a lock may have been free for the sake of dead store objects, each of which misses its turn: after each
 * kill so many milliseconds of the time in which the lock was wanted and nobody had it.
 */
function deadTurns(kills: readonly Span[], ms: number, idle: readonly Span[]): Span[] {
  const ordered = idle.toSorted((a, b) => a.start - b.start);
  let taken = 0;
  return kills.toSorted((a, b) => a.start - b.start).flatMap((kill) => {
    let left = ms;
    return ordered.flatMap((span): Span[] => {
      const start = Math.max(span.start, kill.start, taken);
      const end = Math.min(span.end, start + left);
      if (end <= start) return [];
      taken = end;
      left -= end - start;
      return [{ start, end }];
    });
  });
}

/** Returns whether handoffs between well processes were as fast as trips to the register let expect. */
function pace({ grants, releases, faultTimes, trips, traits }: Observed): Excess[] {
  const gaps = handoffs(grants, releases).filter(({ start, end }) => faultTimes.quiet(start, end) >= end - start);
  if (gaps.length < ENOUGH) return [];
  const times = gaps.map(({ start, end }) => end - start);
  const trip = median(trips);
  const [typical, most] = traits.pace;
  const average = times.reduce((sum, ms) => sum + ms) / times.length;
  const at = gaps.at(-1)!.end;
  const excess = (what: string, ms: number, bound: number): Excess[] => {
    if (ms <= bound) return [];
    return [{ at, what: `${what} handoff took ${ms.toFixed(0)} ms, more than ${bound.toFixed(0)} ms` }];
  };
  return [
    ...excess("the median", median(times), Math.max(typical, TRIPS * trip)),
    ...excess("the average", average, Math.max(most, 5 * TRIPS * trip)),
  ];
}

/** Returns the times from each release to the next grant, if somebody waited already. */
export function handoffs(grants: readonly Grant[], releases: readonly Release[]): Span[] {
  const ends = new Map(releases.filter(({ outcome }) => outcome === "released").map((each) => [each.owner, each]));
  return [...Map.groupBy(grants, ({ lock }) => lock).values()].flatMap((all) => {
    const byFence = all.toSorted((a, b) => a.fence < b.fence ? -1 : 1);
    return byFence.flatMap((grant, i): Span[] => {
      const [release, next] = [ends.get(grant.owner), byFence[i + 1]];
      if (release === undefined || next === undefined || next.start >= release.start) return [];
      return [{ start: release.start, end: Math.max(release.start, next.end) }];
    });
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
