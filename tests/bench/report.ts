import { type Figure, met, type Quantity } from "./figure.ts";

/** The figures as a plain table. */
export function table(figures: readonly Figure[]): string {
  const head = ["", "ours", "reference", "ratio", "target", "met"];
  return align([head, ...figures.map(row)]).map((cells) => cells.join("   ").trimEnd()).join("\n");
}

/** Makes the cells of each column equally wide. */
export function align(rows: readonly (readonly string[])[]): string[][] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)));
}

function row(figure: Figure): string[] {
  const { what, ours, reference, ratio, target } = figure;
  return [
    what,
    show(ours),
    reference === undefined ? "" : `${reference.name} ${show(reference)}`,
    ratio === undefined ? "" : ratio.toFixed(2),
    target === undefined ? "" : `${target.bound === "at least" ? "≥" : "≤"} ${target.value.toLocaleString("en")}`,
    { true: "yes", false: "no", undefined: "" }[`${met(figure)}`],
  ];
}

/** Whole numbers in full, others as exactly as anybody reads them. */
export function show({ value, unit }: Quantity): string {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return unit === "" ? text : unit === "/s" ? `${text}/s` : `${text} ${unit}`;
}

/** The figures for programs. */
export function json(figures: readonly Figure[], machine: object): string {
  const rows = figures.map((figure) => ({ ...figure, met: met(figure) ?? null }));
  return JSON.stringify({ ...machine, figures: rows }, undefined, 2) + "\n";
}
