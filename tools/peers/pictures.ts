import { headline, type Machine } from "../../bench/machine.ts";
import { dotPlot, type PlotRow } from "./dot_plot.ts";
import type { Outcome, Result } from "./outcome.ts";

const OURS = "holdfast";

/** The beginning of the keys of the columns with the tail of the handoffs; the number of waiters follows. */
const TAIL = "p99:";

/** One panel: a column of a table. */
interface Panel {
  readonly title: string;
  readonly outcome: Outcome | undefined;
  readonly key: string;
}

/** A file, and what is drawn in it. */
interface Picture {
  readonly file: string;
  readonly title: string;
  readonly description: string;
  readonly panels: readonly Panel[];
}

/** Draws the pictures of a run: the text of each by its file's name. Leaves out those whose rows were not measured. */
export function pictures(machine: Machine, outcomes: readonly Outcome[]): Map<string, string> {
  const notes = [
    "Logarithmic scale. Each library has the settings that suit it best.",
    `${machine.date.slice(0, 10)}: ${headline(machine)}`,
  ];
  const wanted = [longestWait(outcomes), handoff(outcomes)];
  const complete = wanted.filter(({ panels }) =>
    panels.length > 0 && panels.every(({ outcome }) => outcome !== undefined)
  );
  return new Map(complete.map(({ file, panels, ...texts }) => {
    return [file, dotPlot({ ...texts, notes, panels: panels.map(({ title }) => title), rows: rowsOf(panels) })];
  }));
}

function longestWait(outcomes: readonly Outcome[]): Picture {
  const find = (row: string) => outcomes.find((outcome) => outcome.row === row);
  return {
    file: "longest_wait.svg",
    title: "Longest wait / mean wait: 1 means that nobody waits longer than the others",
    description: "One dot for each library, on a logarithmic scale, for 32 workers of one process and for 8 processes.",
    panels: [
      { title: "32 workers of one process", outcome: find("contended"), key: "fairness" },
      { title: "8 processes", outcome: find("processes"), key: "fairness" },
    ],
  };
}

function handoff(outcomes: readonly Outcome[]): Picture {
  const outcome = outcomes.find(({ row }) => row === "handoff");
  const keys = (outcome?.columns ?? []).map(({ key }) => key).filter((key) => key.startsWith(TAIL));
  const title = (waiters: number) => `${waiters.toLocaleString("en")} waiter${waiters === 1 ? "" : "s"}`;
  return {
    file: "handoff.svg",
    title: "Handoff, p99 in ms: from the call of release until the next holder runs",
    description: "One dot for each library, on a logarithmic scale, for 1, 10, 100 and 1,000 waiters.",
    panels: keys.map((key) => ({ title: title(Number(key.slice(TAIL.length))), outcome, key })),
  };
}

/** A row for each library, that with the smallest worst value first. */
function rowsOf(panels: readonly Panel[]): PlotRow[] {
  const titles = new Map(panels.flatMap(({ outcome }) => outcome!.results).map(({ id, title }) => [id, title]));
  // With its defaults only: the other settings of this library have a table of their own.
  for (const id of titles.keys()) if (id === "bare" || id.startsWith(`${OURS}-`)) titles.delete(id);
  const rows = Array.from(titles, ([id, label]) => ({
    label,
    ours: id === OURS,
    values: panels.map(({ outcome, key }) => least(outcome!.results.filter((result) => result.id === id), key)),
  }));
  const worst = ({ values }: PlotRow) => Math.max(...values.map((value) => value ?? Infinity));
  return rows.toSorted((a, b) => worst(a) - worst(b));
}

/** The least value of a library's settings, without those with which some waits ended too early. */
function least(results: readonly Result[], key: string): number | undefined {
  const values = results
    .filter(({ values }) => !(values["failures"]! > 0))
    .flatMap(({ values }) => values[key] ?? []);
  return values.length === 0 ? undefined : Math.min(...values);
}
