/** The text between two columns. */
const GAP = "  ";

/** The largest width of a column: one long name must not push the columns to its right out of sight. */
const MAX_WIDTH = 48;

/** Characters that take two columns of a terminal. */
const WIDE = new RegExp(
  [
    "[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f",
    "\\uff00-\\uff60\\uffe0-\\uffe6\\u{1f300}-\\u{1faff}\\u{20000}-\\u{3fffd}]",
  ].join(""),
  "u",
);

/** Characters that are drawn over the character before. */
const COMBINING = /\p{M}/u;

/** Returns rows of cells as lines, with the cells of each column below each other. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) {
      widths[i] = Math.max(widths[i] ?? 0, Math.min(width(cell), MAX_WIDTH));
    }
  }
  return rows.map((row) => {
    return row.map((cell, i) => cell + " ".repeat(Math.max(0, widths[i]! - width(cell)))).join(GAP).trimEnd();
  });
}

/** Returns the beginning of a line that fits into so many columns of a terminal. */
export function cut(line: string, columns: number): string {
  if (width(line) <= columns) return line;
  let end = "";
  let used = 1;
  for (const character of line) {
    used += width(character);
    if (used > columns) break;
    end += character;
  }
  return `${end}…`;
}

/** Returns a text as lines that fit into so many columns of a terminal, broken between words. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && width(line) + 1 + width(word) <= columns) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Returns how many columns of a terminal a text takes. */
function width(text: string): number {
  // Most texts have ASCII characters only.
  if (/^[ -~]*$/.test(text)) return text.length;
  let columns = 0;
  for (const character of text) columns += WIDE.test(character) ? 2 : COMBINING.test(character) ? 0 : 1;
  return columns;
}
