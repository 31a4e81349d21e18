import { align, show } from "../../bench/report.ts";
import { type Outcome, ranked } from "./outcome.ts";

/** What is told of a row, by the column, in which unit, and of which libraries much is good. */
interface Measure {
  readonly row: string;
  readonly key: string;
  readonly what: string;
  readonly best?: "most";
}

/** This library, and what begins the ids of its settings that take part for themselves. */
const OURS = "holdfast";
const OUR_SETTINGS = `${OURS}-`;

const MEASURES: readonly Measure[] = [
  { row: "uncontended", key: "ratio", what: "nobody waits, one at a time: rate, of the bare pair", best: "most" },
  { row: "concurrent", key: "ratio", what: "nobody waits, 64 names at a time: rate, of the bare pair", best: "most" },
  { row: "contended", key: "total", what: "32 workers of one process: time, ms" },
  { row: "contended", key: "fairness", what: "32 workers of one process: longest wait / mean wait" },
  { row: "contended", key: "commands", what: "32 workers: commands per section, with those in scripts" },
  { row: "processes", key: "total", what: "8 processes: time, ms" },
  { row: "processes", key: "fairness", what: "8 processes: longest wait / mean wait" },
  { row: "handoff", key: "p50:1", what: "handoff, 1 waits: p50, ms" },
  { row: "handoff", key: "p50:10", what: "handoff, 10 wait: p50, ms" },
  { row: "handoff", key: "p50:100", what: "handoff, 100 wait: p50, ms" },
  { row: "handoff", key: "p50:1000", what: "handoff, 1,000 wait: p50, ms" },
  { row: "handoff", key: "p99:1", what: "handoff, 1 waits: p99, ms" },
  { row: "handoff", key: "p99:100", what: "handoff, 100 wait: p99, ms" },
  { row: "redlock:3", key: "ratio", what: "Redlock, 3 servers: rate, of bare pairs on all", best: "most" },
  { row: "redlock:5", key: "ratio", what: "Redlock, 5 servers: rate, of bare pairs on all", best: "most" },
  { row: "frozen:3", key: "p50", what: "Redlock, 3 servers, one frozen: p50, ms" },
  { row: "frozen:5", key: "p50", what: "Redlock, 5 servers, one frozen: p50, ms" },
  { row: "held", key: "cpu", what: "10,000 locks held: processor time per renewal, µs" },
  { row: "held", key: "heap", what: "10,000 locks held: heap per lock, KB" },
  { row: "idle", key: "commands", what: "100 wait for long: commands per waiter and minute" },
  { row: "cold", key: "total", what: "the first 100 of a process, with its import: time, ms" },
];

/**
 * This library with its defaults beside the best of the others, measure by measure, each of those with the settings
 * that suit it best; the bare pair does not take part, and neither does who gave up. A second table does the same for
 * each setting of this library that takes part for itself.
 */
export function summary(outcomes: readonly Outcome[]): string | undefined {
  const results = outcomes.flatMap(({ results }) => results);
  const settings = new Map(
    results.filter(({ id }) => id.startsWith(OUR_SETTINGS)).map(({ id, settings }) => [id, `Holdfast: ${settings}`]),
  );
  const tables = [
    beside(outcomes, OURS, "Holdfast"),
    ...Array.from(settings, ([id, title]) => {
      return beside(outcomes, id, title);
    }),
  ];
  const told = tables.filter((table) => table !== undefined);
  return told.length === 0 ? undefined : told.join("\n\n");
}

function beside(outcomes: readonly Outcome[], ours: string, title: string): string | undefined {
  const lines = MEASURES.flatMap((measure) => {
    const outcome = outcomes.find(({ row }) => row === measure.row);
    const line = outcome && compare(outcome, measure, ours);
    return line === undefined ? [] : [line];
  });
  if (lines.length === 0) return undefined;
  const rows = align([["what", title, "best of the others", "place"], ...lines]);
  const rule = rows[0]!.map((cell) => "-".repeat(cell.length));
  return [rows[0]!, rule, ...rows.slice(1)].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function compare(outcome: Outcome, { key, what, best }: Measure, us: string): string[] | undefined {
  const ofKey = { ...outcome, columns: [{ key, title: what, unit: "" }], best: best ?? "least" } as const;
  const order = ranked(ofKey).filter(({ id, values }) => {
    if (id === "bare" || values[key] === undefined || values["failures"]! > 0) return false;
    return id === us || (id !== OURS && !id.startsWith(OUR_SETTINGS));
  });
  const libraries = [...new Set(order.map(({ id }) => id))];
  const ours = order.find(({ id }) => id === us);
  const other = order.find(({ id }) => id !== us);
  if (ours === undefined) return undefined;
  const text = (value: number) => show({ value, unit: "" });
  return [
    what,
    text(ours.values[key]!),
    other === undefined ? "–" : `${text(other.values[key]!)} (${other.title})`,
    `${libraries.indexOf(us) + 1} of ${libraries.length}`,
  ];
}
