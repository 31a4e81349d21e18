import { align, show } from "../../bench/report.ts";
import { type Column, type Outcome, ranked, type Result } from "./outcome.ts";

/** A table in Markdown that is also legible as it stands, the best line first. */
export function table(outcome: Outcome): string {
  const { title, columns } = outcome;
  const head = ["", "settings", ...columns.map(heading), "remarks"];
  const lines = ranked(outcome).map((result) => line(result, columns));
  // A column in which nobody has anything to say is left out.
  const told = head.map((_, place) => place === 0 || lines.some((cells) => !["", "–"].includes(cells[place]!)));
  const rows = align([head, ...lines].map((cells) => cells.filter((_, place) => told[place])));
  const rule = rows[0]!.map((cell) => "-".repeat(cell.length));
  return [`### ${title}`, "", ...[rows[0]!, rule, ...rows.slice(1)].map((cells) => `| ${cells.join(" | ")} |`)].join(
    "\n",
  );
}

function heading({ title, unit }: Column): string {
  return unit === "" || unit === "/s" ? title : `${title} (${unit})`;
}

function line({ title, settings, values, note }: Result, columns: readonly Column[]): string[] {
  const cells = columns.map(({ key }) => {
    const value = values[key];
    return value === undefined ? "–" : show({ value, unit: "" });
  });
  return [title, settings, ...cells, note ?? ""];
}
