import { flakyLine, MOST_FLAKY } from "../tools/second_try.ts";
import type { Outcome } from "./run.ts";

/** What was run, and what it came to. */
export interface Row {
  readonly name: string;
  readonly version: string;
  readonly seconds: number;
  readonly outcome: Outcome;
}

/** Returns the rows as a table, with the reasons of what was not run below. */
export function table(rows: readonly Row[]): string {
  const cells = rows.map(({ name, version, seconds, outcome: { passed, failures, skipped } }) => [
    ...[name, version, `${passed}`, `${failures.length}`, `${sum(skipped)}`, `${seconds.toFixed(0)} s`],
  ]);
  const all = [["runtime", "version", "passed", "failed", "skipped", "time"], ...cells];
  const widths = all[0]!.map((_, i) => Math.max(...all.map((row) => row[i]!.length)));
  const lines = all.map((row) => row.map((cell, i) => cell.padEnd(widths[i]!)).join("  ").trimEnd());
  const reasons = rows.flatMap(({ name, outcome }) =>
    [...outcome.skipped].map(([why, count]) => `${name}: ${count} skipped: ${why}`)
  );
  return [...lines, ...(reasons.length > 0 ? ["", ...reasons] : [])].join("\n");
}

/** Returns how many tests failed, with those that passed only the second time if they are too many. */
export function failures(rows: readonly Row[]): number {
  const flaky = flakyOf(rows).length;
  return rows.reduce((sum, { outcome }) => sum + outcome.failures.length, flaky > MOST_FLAKY ? flaky : 0);
}

/** Returns the line that sums them up, as that of `deno task test` does; above it the one of the flaky tests. */
export function summary(rows: readonly Row[]): string {
  const flaky = flakyOf(rows);
  let [passed, skipped] = [flaky.length > MOST_FLAKY ? -flaky.length : 0, 0];
  for (const { outcome } of rows) {
    passed += outcome.passed;
    skipped += sum(outcome.skipped);
  }
  const total = `${passed} passed, ${failures(rows)} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
  return flaky.length > 0 ? `${flakyLine(flaky)}\n${total}` : total;
}

/** Returns the names of the tests that passed only the second time. */
function flakyOf(rows: readonly Row[]): string[] {
  return rows.flatMap(({ name, outcome }) => outcome.repeated.map((text) => `${text.split("\n")[0]} (${name})`));
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((a, b) => a + b, 0);
}
