import type { Verdict } from "../../history/check.ts";
import type { History, Write } from "../../history/history.ts";
import type { Rule } from "../../history/violation.ts";
import type { Ledger } from "./crew.ts";
import type { Options } from "./options.ts";
import type { Storm } from "./storm.ts";

/** All that is known at the end of a run. */
export interface Findings {
  readonly options: Omit<Options, "help">;
  readonly ledger: Ledger;
  readonly storm: Storm;
  readonly history: History;
  readonly verdict: Verdict;
  readonly left: { readonly keys: readonly string[]; readonly connections: readonly string[] };
  readonly skipped: readonly string[];
}

/** What a run comes to. */
export interface Outcome {
  readonly options: Omit<Options, "help">;
  /** What was counted, in the order in which it is shown. */
  readonly counts: ReadonlyMap<string, number>;
  /** How often each kind of fault happened, the most frequent first. */
  readonly faults: ReadonlyMap<string, number>;
  /** How long the longest wait for a lock was, in milliseconds. */
  readonly longestWait: number;
  /** The part of the time in which no fault let locks be given away, from 0 to 1. */
  readonly sound: number;
  /** What must not happen and has, each with the fault before it. */
  readonly violations: readonly string[];
  /** Faults that could not happen, and why. */
  readonly skipped: readonly string[];
}

/** What a resource that does not check fences cannot promise. */
const FENCED: readonly Rule[] = ["stale writes are refused", "no update is lost"];

/** Sums up a run. */
export function outcome({ options, ledger, storm, history, verdict, left, skipped }: Findings): Outcome {
  const { grants, releases, writes } = history;
  const refused = writes.filter(({ accepted }) => !accepted).length;
  const stale = verdict.violations.filter(({ rule }) => rule === "stale writes are refused").length;
  const broken = verdict.violations.filter(({ rule }) => options.fences || !FENCED.includes(rule));
  const ends = (outcome: string) => releases.filter((release) => release.outcome === outcome).length;
  const unanswered = [...ledger.refused.values()].reduce((sum, count) => sum + count, 0);
  const counts: [string, number][] = [
    ["operations", grants.length + unanswered + releases.length + writes.length],
    ["locks granted", grants.length],
    ["handoffs to a waiter", ledger.handoffs],
    ...[...ledger.refused].map(([how, count]): [string, number] => [`not granted: ${how}`, count]),
    ["leases lost", ends("lost")],
    ["releases unanswered", ends("unknown")],
    ["faults", storm.happenings.length],
    ["double holders believed", verdict.doubleHolders],
    ["stale writes attempted", refused + stale],
    ["stale writes refused", refused],
    ["updates", writes.length - refused],
    [options.fences ? "updates lost" : "updates lost without the fence check", lost(writes)],
    ["waiters lost", ledger.lost.length],
    ["unhandled rejections", ledger.unhandled.length],
    ["processes that died", ledger.died.length],
    ["processes that lingered", ledger.lingered],
    ["keys left", left.keys.length],
    ["connections left", left.connections.length],
    ["violations", 0],
  ];
  const violations = [
    ...broken.map(({ rule, lock, at, entries }) => `${rule}: lock ${lock}, ${show(entries)}; ${before(storm, at)}`),
    ...ledger.lost.map(({ lock, start }) => `a waiter for lock ${lock} was lost; ${before(storm, start)}`),
    ...ledger.unhandled.map((message) => `unhandled rejection: ${message}`),
    ...ledger.died,
    ...left.keys.map((key) => `key left: ${key}`),
    ...left.connections.map((connection) => `connection left: ${connection}`),
  ];
  counts[counts.length - 1] = ["violations", violations.length];
  const kinds = Map.groupBy(storm.happenings, ({ what }) => what);
  const faults = new Map([...kinds].map(([kind, all]) => [kind, all.length] as const).sort(([, a], [, b]) => b - a));
  const all = [...skipped, ...storm.failures.map((failure) => `failed: ${failure}`)];
  const { longestWait } = ledger;
  return { options, counts: new Map(counts), faults, longestWait, sound: sound(history), violations, skipped: all };
}

/** The part of the time of a history that is outside its breaches, which do not overlap. */
function sound({ grants, breaches }: History): number {
  const from = grants.reduce((first, { start }) => Math.min(first, start), Infinity);
  const to = grants.reduce((last, { end }) => Math.max(last, end), from);
  const broken = breaches.reduce((sum, { start, end }) => sum + Math.max(0, Math.min(end, to) - start), 0);
  return to > from ? 1 - broken / (to - from) : 0;
}

/** How many updates were accepted and then overwritten by somebody who did not know of them. */
function lost(writes: readonly Write[]): number {
  const accepted = Map.groupBy(writes.filter(({ accepted }) => accepted), ({ lock }) => lock);
  return [...accepted.values()].reduce((sum, writes) => sum + writes.length - writes.at(-1)!.value, 0);
}

function before(storm: Storm, at: number): string {
  const happening = storm.happenings.findLast(({ start }) => start <= at);
  if (happening === undefined) return "before any fault";
  return `${(at - happening.start).toFixed(0)} ms after the beginning of "${happening.what}"`;
}

function show(entries: readonly unknown[]): string {
  return JSON.stringify(entries, (_, value) => typeof value === "bigint" ? `${value}` : value);
}
