import type { Verdict } from "../../verification/history/check.ts";
import type { History, Write } from "../../verification/history/history.ts";
import type { Rule } from "../../verification/history/rules.ts";
import { type Excess, excesses } from "./bounds.ts";
import type { Ledger } from "./crew.ts";
import { unsucceeded } from "./dead_holders.ts";
import type { Left, Traits } from "./deployment.ts";
import type { Options } from "./options.ts";
import type { FaultSchedule } from "./fault_schedule.ts";
import { FaultTimes, type Span } from "./fault_times.ts";
import { storesOf } from "./work.ts";

/** All that is known at the end of a run. */
export interface Findings {
  readonly options: Options;
  readonly ledger: Ledger;
  readonly schedule: FaultSchedule;
  readonly history: History;
  readonly verdict: Verdict;
  /** When the process stood still through which all connections go. */
  readonly stalls: readonly Span[];
  /** When the faults began. */
  readonly began: number;
  /** The lease of all locks, in milliseconds. */
  readonly lease: number;
  readonly traits: Traits;
  readonly left: Left;
}

/** What a run comes to. */
export interface Outcome {
  readonly options: Options;
  /** What was counted, in the order in which it is shown. */
  readonly counts: ReadonlyMap<string, number>;
  /** How often each kind of fault happened, the most frequent first. */
  readonly faults: ReadonlyMap<string, number>;
  /** How long the longest wait for a lock was, in milliseconds. */
  readonly longestWait: number;
  /** The part of the time in which no fault let locks be given away, from 0 to 1. */
  readonly sound: number;
  /** The part of the time in which nothing explained a loss or a wait, from 0 to 1. */
  readonly quiet: number;
  /** What must not happen and has, in the order of time, each with the fault before it. */
  readonly violations: readonly string[];
}

/** What leaves no trace: any client gets over it. */
const HARMLESS: readonly string[] = ["SCRIPT FLUSH"];

/** What deletes some of the keys of a lock and keeps others. */
const TEARING: readonly string[] = ["eviction"];

/** What makes dead holders. */
const KILL = "worker killed";

/** How long a fault has effects, in milliseconds besides a lease: clients connect again, and try again. */
const AFTERMATH = 1_000;

/** How many locks must have been granted before it means anything that none was handed on. */
const ENOUGH = 100;

/** What a resource that does not check fences cannot promise. */
const FENCED: readonly Rule[] = ["stale writes are refused", "no update is lost"];

/** Sums up a run. */
export function outcome(findings: Findings): Outcome {
  const { options, ledger, schedule, history } = findings;
  const faultTimes = faultTimesOf(findings);
  const violations = violationsOf(findings, faultTimes);
  const counts = countsOf(findings).set("violations", violations.length);
  const kinds = Map.groupBy(schedule.happenings, ({ what }) => what);
  const faults = new Map([...kinds].map(([kind, all]) => [kind, all.length] as const).sort(([, a], [, b]) => b - a));
  const { longestWait } = ledger;
  const [from, to] = extent(history);
  const quiet = to > from ? faultTimes.quiet(from, to) / (to - from) : 0;
  return { options, counts, faults, longestWait, sound: sound(history), quiet, violations };
}

function countsOf({ options, ledger, schedule, history, verdict, left }: Findings): Map<string, number> {
  const { grants, releases, writes } = history;
  const refused = writes.filter(({ accepted }) => !accepted).length;
  const stale = verdict.violations.filter(({ rule }) => rule === "stale writes are refused").length;
  const ends = (outcome: string) => releases.filter((release) => release.outcome === outcome).length;
  const unanswered = [...ledger.refused.values()].reduce((sum, count) => sum + count, 0);
  return new Map([
    ["operations", grants.length + unanswered + releases.length + writes.length],
    ["locks granted", grants.length],
    ["handoffs to a waiter", ledger.handoffs],
    ["handoffs inside a process", ledger.handedOn],
    ...[...ledger.refused].map(([how, count]): [string, number] => [`not granted: ${how}`, count]),
    ["leases lost", ends("lost")],
    ["releases unanswered", ends("unknown")],
    ["faults", schedule.happenings.length],
    [
      "masters that changed by themselves",
      history.breaches.length - schedule.happenings.filter(({ fault }) => fault.breach).length,
    ],
    ["double holders believed", verdict.doubleHolders],
    ["stale writes attempted", refused + stale],
    ["stale writes refused", refused],
    ["updates", writes.length - refused],
    [options.noFences ? "updates lost without the fence check" : "updates lost", lost(writes)],
    ["holders after the end of their lease", ledger.overdue.length],
    ["looks at what is left", ledger.remains.length],
    ["waiters lost", ledger.lost.length],
    ["guarded transactions", ledger.guarded.committed],
    ["guarded transactions that failed", ledger.guarded.failed],
    ["dead holders", ledger.dead.length],
    ["unhandled rejections", ledger.unhandled.length],
    ["processes that died", ledger.died.length],
    ["processes that lingered", ledger.lingered],
    ["entries left", left.entries.length],
    ["connections left", left.connections.length + ledger.unclosed.length],
  ]);
}

/** Returns what must not happen and has happened: first what has a time, in order. */
function violationsOf(findings: Findings, faultTimes: FaultTimes): string[] {
  const { options, ledger, schedule, history, verdict, left, traits, lease, began } = findings;
  const broken = verdict.violations.filter(({ rule }) => !options.noFences || !FENCED.includes(rule));
  const evictions = schedule.happenings.filter(({ what }) => TEARING.includes(what));
  const kills = schedule.happenings.filter(({ what }) => what === KILL);
  const unmade = options.only.filter((kind) => schedule.happenings.every(({ what }) => what !== kind));
  const stores = (lock: string) => storesOf(lock, options);
  const timed: Excess[] = [
    ...broken.map(({ rule, lock, at, entries }) => ({ at, what: `${rule}: lock ${lock}, ${show(entries)}` })),
    ...ledger.overdue.map(({ lock, at, ms }) => {
      return { at, what: `lock ${lock} was held ${ms.toFixed(1)} ms after the end of its lease` };
    }),
    ...ledger.unfounded.map(({ lock, at }) => {
      return { at, what: `lock ${lock} was held with a fence that the store had not granted` };
    }),
    ...ledger.putBack.map(({ lock, at, node }) => {
      return {
        at,
        what: `lock ${lock} was restored on node ${node} after others had had it, and no majority had kept it`,
      };
    }),
    ...excesses({ ...ledger, ...history, evictions, kills, storesOf: stores, traits, lease, faultTimes }),
    ...unsucceeded({
      ...ledger,
      ...history,
      kills,
      storesOf: stores,
      lease,
      ...traits,
      faultTimes: delaysOf(findings),
    }),
    ...ledger.lost.map(({ lock, start }) => ({ at: start, what: `a waiter for lock ${lock} was lost` })),
  ];
  const second = (at: number) => ((at - began) / 1_000).toFixed(1);
  return [
    ...timed.sort((a, b) => a.at - b.at).map(({ at, what }) => `${second(at)} s: ${what}; ${before(schedule, at)}`),
    ...ledger.unhandled.map((message) => `unhandled rejection: ${message}`),
    ...ledger.died,
    ...left.entries.map((entry) => `left: ${entry}`),
    ...[...left.connections, ...ledger.unclosed].map((connection) => `connection left: ${connection}`),
    ...schedule.failures.map((failure) => `a fault could not be made to happen: ${failure}`),
    ...schedule.missing,
    ...(schedule.happenings.length === 0
      ? ["no fault has happened"]
      : unmade.map((kind) => `"${kind}" has not happened`)),
    ...(history.grants.length === 0 ? ["no lock was granted"] : []),
    ...(ledger.guarded.failed > 0 && ledger.guarded.committed === 0 ? ["no guarded transaction was committed"] : []),
    ...(handsOn(options, traits) && history.grants.length >= ENOUGH && ledger.handedOn === 0
      ? ["no lock was handed on inside a process"]
      : []),
  ];
}

/** Returns whether processes hand locks on. */
export function handsOn({ handoff }: Options, traits: Traits): boolean {
  return handoff !== "none" && (handoff !== "default" || traits.runs);
}

/** Returns when something may go wrong: for as long as faults and stalls have effects. */
function faultTimesOf({ schedule, history, ledger, stalls, lease }: Findings): FaultTimes {
  const causes = schedule.happenings.filter(({ what }) => !HARMLESS.includes(what));
  return new FaultTimes([...causes, ...history.breaches, ...ledger.stalls, ...stalls], lease + AFTERMATH);
}

/** Returns when the lock of a dead holder may stay free: a stall of some milliseconds makes it no later than that. */
function delaysOf({ schedule, history, ledger, stalls, lease }: Findings): FaultTimes {
  const causes = schedule.happenings.filter(({ what }) => !HARMLESS.includes(what) && what !== KILL);
  const lasting = [...causes, ...history.breaches].map(({ start, end }) => ({ start, end: end + lease + AFTERMATH }));
  return new FaultTimes([...lasting, ...ledger.stalls, ...stalls], 0);
}

/** From the first call to the last grant. */
function extent({ grants }: History): [from: number, to: number] {
  const from = grants.reduce((first, { start }) => Math.min(first, start), Infinity);
  return [from, grants.reduce((last, { end }) => Math.max(last, end), from)];
}

/** Returns the part of the time of a history that is outside its breaches. */
function sound(history: History): number {
  const [from, to] = extent(history);
  return to > from ? new FaultTimes(history.breaches, 0).quiet(from, to) / (to - from) : 0;
}

/** Returns how many updates were accepted and then overwritten by somebody who did not know of them. */
function lost(writes: readonly Write[]): number {
  const accepted = Map.groupBy(writes.filter(({ accepted }) => accepted), ({ lock }) => lock);
  return [...accepted.values()].reduce((sum, writes) => sum + writes.length - writes.at(-1)!.value, 0);
}

function before(schedule: FaultSchedule, at: number): string {
  const happening = schedule.happenings.findLast(({ start }) => start <= at);
  if (happening === undefined) return "before any fault";
  return `${(at - happening.start).toFixed(0)} ms after the beginning of "${happening.what}"`;
}

function show(entries: readonly unknown[]): string {
  return JSON.stringify(entries, (_, value) => typeof value === "bigint" ? `${value}` : value);
}
