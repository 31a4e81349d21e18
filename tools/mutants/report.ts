import type { Result } from "./results.ts";

/** A mutant that no test need notice, and why. */
export interface Excuse {
  readonly mutant: string;
  readonly reason: string;
}

/** Returns the report of a run: how many were noticed in each file, and which were not. */
export function report(results: readonly Result[], excuses: readonly Excuse[]): string {
  const lines = ["", row("", "mutants", "noticed", "late", "survived", "score", "excused", "score 2")];
  const excused = new Set(excuses.map(({ mutant }) => mutant));
  const targets = Map.groupBy(results, ({ target }) => target);
  for (const [target, ofTarget] of targets) {
    for (const [path, ofFile] of Map.groupBy(ofTarget, ({ path }) => path)) lines.push(summary(path, ofFile, excused));
    lines.push(summary(`${target}, all`, ofTarget, excused), "");
  }
  lines.push("Score 2 leaves out the excused ones: survivors with a reason in survivors.json.", "");
  const reasons = new Map(excuses.map(({ mutant, reason }) => [mutant, reason]));
  const survivors = results.filter(({ outcome }) => outcome === "survived");
  if (survivors.length > 0) lines.push("Survivors:");
  for (const { key, path, line, operator } of survivors) {
    lines.push(`  ${path}:${line} ${operator}: ${key.slice(path.length + 1)}`);
    lines.push(`      ${reasons.get(key) ?? "no reason known"}`);
  }
  return lines.join("\n");
}

/** Returns those excuses that are idle: of mutants that were noticed. */
export function idle(results: readonly Result[], excuses: readonly Excuse[]): Excuse[] {
  const noticed = new Set(results.filter(({ outcome }) => outcome !== "survived").map(({ key }) => key));
  return excuses.filter(({ mutant }) => noticed.has(mutant));
}

function summary(what: string, results: readonly Result[], excused: ReadonlySet<string>): string {
  const count = (outcome: Result["outcome"]) => results.filter((result) => result.outcome === outcome).length;
  const survived = count("survived");
  const left = results.filter(({ outcome, key }) => outcome === "survived" && excused.has(key)).length;
  const noticed = results.length - survived;
  const scores = [results.length, results.length - left].map((of) =>
    of === 0 ? "–" : `${(100 * noticed / of).toFixed(1)} %`
  );
  return row(what, results.length, count("killed"), count("late"), survived, scores[0]!, left, scores[1]!);
}

function row(what: string, ...cells: (string | number)[]): string {
  return what.padEnd(44) + cells.map((cell) => String(cell).padStart(10)).join("");
}
