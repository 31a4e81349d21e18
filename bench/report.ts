import { type Figure, met, type Quantity } from "./figure.ts";

/** Returns the figures as a plain table; on a loaded machine without a word on what is met. */
export function table(figures: readonly Figure[], loaded = false): string {
  const head = ["", "ours", "reference", "ratio", "target", "met"];
  return align([head, ...figures.map((figure) => row(figure, loaded))]).map((cells) => cells.join("   ").trimEnd())
    .join("\n");
}

/** Makes the cells of each column equally wide. */
export function align(rows: readonly (readonly string[])[]): string[][] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)));
}

function row(figure: Figure, loaded: boolean): string[] {
  const { what, ours, reference, ratio, target } = figure;
  return [
    what,
    show(ours),
    reference === undefined ? "" : `${reference.name} ${show(reference)}`,
    ratio === undefined ? "" : ratio.toFixed(2),
    target === undefined || loaded
      ? ""
      : `${target.bound === "at least" ? "≥" : "≤"} ${target.value.toLocaleString("en")}`,
    loaded ? "worthless" : { true: "yes", false: "no", undefined: "" }[`${met(figure)}`],
  ];
}

/** Writes whole numbers in full, others as exactly as anybody reads them. */
export function show({ value, unit }: Quantity): string {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return unit === "" ? text : unit === "/s" ? `${text}/s` : `${text} ${unit}`;
}

/** Returns the figures for programs; on a loaded machine nothing is met or missed. */
export function json(figures: readonly Figure[], machine: object, loaded = false): string {
  const rows = figures.map((figure) => ({ ...figure, met: loaded ? null : met(figure) ?? null }));
  return JSON.stringify({ ...machine, loaded, figures: rows }, undefined, 2) + "\n";
}
