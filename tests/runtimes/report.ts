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

/** Returns how many tests failed. */
export function failures(rows: readonly Row[]): number {
  return rows.reduce((sum, { outcome }) => sum + outcome.failures.length, 0);
}

/** Returns the line that sums them up, as that of `deno task test` does. */
export function summary(rows: readonly Row[]): string {
  const passed = rows.reduce((sum, { outcome }) => sum + outcome.passed, 0);
  const skipped = rows.reduce((all, { outcome }) => all + sum(outcome.skipped), 0);
  return `${passed} passed, ${failures(rows)} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((a, b) => a + b, 0);
}
