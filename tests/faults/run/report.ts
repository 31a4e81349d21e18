import type { Outcome } from "./outcome.ts";
import type { Progress } from "./run.ts";

/** How many violations are shown. */
const SHOWN = 20;

/** Returns the report of a run: a table, and what was violated. */
export function report({ options, counts, faults, longestWait, sound, quiet, violations }: Outcome): string {
  const { deployment, client, minutes, seed, workers, stores, handoff, noFences } = options;
  const flags = `${workers === 4 ? "" : ` --workers ${workers}`}${stores === 60 ? "" : ` --stores ${stores}`}${
    handoff === "default" ? "" : ` --handoff ${handoff}`
  }${noFences ? " --no-fences" : ""}${options.only.length === 0 ? "" : ` --only "${options.only.join(",")}"`}`;
  const over = client === undefined ? "" : ` --client ${client}`;
  const command = `deno task faults --deployment ${deployment}${over} --minutes ${minutes} --seed ${seed}${flags}`;
  const rows = [...counts].flatMap(([what, count]): [string, string][] => {
    const row: [string, string] = [what, count.toLocaleString("en")];
    if (what === "handoffs to a waiter") return [row, ["longest wait", `${(longestWait / 1_000).toFixed(1)} s`]];
    if (what === "double holders believed") {
      const percent = (part: number) => `${(part * 100).toFixed(0)} %`;
      return [
        ["time without a fault that allows two", percent(sound)],
        ["time without any fault or its effects", percent(quiet)],
        row,
      ];
    }
    if (what !== "faults") return [row];
    return [row, ...[...faults].map(([kind, count]): [string, string] => [`  ${kind}`, count.toLocaleString("en")])];
  });
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  const table = rows.map(([what, count]) => `${what.padEnd(widths[0]!)}   ${count.padStart(widths[1]!)}`);
  const lines = [command, "", ...table];
  if (violations.length > 0) {
    lines.push("", `Seed ${seed} fails:`, ...violations.slice(0, SHOWN).map((violation) => `  ${violation}`));
    if (violations.length > SHOWN) lines.push(`  … and ${violations.length - SHOWN} more`);
  }
  return lines.join("\n");
}

/** Returns what a run is at, in one line. */
export function line({ at, crew, schedule, elapsed }: Progress): string {
  const { grants, releases, refused, handoffs, longestWait } = crew.ledger;
  const operations = grants.size + releases.length + [...refused.values()].reduce((sum, count) => sum + count, 0);
  const parts = [
    `${(elapsed / 1_000).toFixed(0)} s`,
    `${operations.toLocaleString("en")} operations`,
    `${schedule.happenings.length} faults`,
    `${handoffs.toLocaleString("en")} handoffs`,
    `longest wait ${(longestWait / 1_000).toFixed(1)} s`,
  ];
  return [...parts, at, ...crew.unfinished, ...schedule.now].join(" · ");
}
