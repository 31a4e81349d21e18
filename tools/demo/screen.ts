/** The least time between two updates of a progress line. */
const FRAME_MS = 50;

/** Moves to the start of the line and clears it. */
const AGAIN = "\r\x1b[K";

/** The codes of a terminal for each style. */
const STYLES = { bold: 1, red: 31, green: 32 } as const;

/** How a text looks on a terminal. */
export type Style = keyof typeof STYLES;

/** Styles a text, on a terminal and unless `NO_COLOR` is set. */
export function paint(style: Style, text: string): string {
  if (Deno.noColor || !Deno.stdout.isTerminal()) return text;
  return `\x1b[${STYLES[style]}m${text}\x1b[0m`;
}

/** The progress of a phase: one line that changes on a terminal, a few lines elsewhere. */
export class Progress {
  readonly #total: number;
  readonly #live = Deno.stdout.isTerminal();
  #shown = -Infinity;

  /** Creates the progress of so many steps. */
  constructor(total: number) {
    this.#total = total;
  }

  /** Shows the text of a step, unless the last one was shown a moment ago. */
  step(done: number, text: string): void {
    if (!this.#live) {
      if (done % Math.ceil(this.#total / 4) === 0 && done < this.#total) say(text);
      return;
    }
    const now = performance.now();
    if (now - this.#shown < FRAME_MS) return;
    this.#shown = now;
    this.#write(`${AGAIN}   ${text}`);
  }

  /** Shows the result. */
  end(text: string): void {
    if (this.#live) this.#write(AGAIN);
    say(text);
  }

  #write(text: string): void {
    Deno.stdout.writeSync(new TextEncoder().encode(text));
  }
}

/** Prints a line that belongs to a phase. */
export function say(text: string): void {
  console.log(`   ${text}`);
}

/** Prints the number and the name of a phase, and what happens in it. */
export function title(name: string, text: string): void {
  console.log(`${paint("bold", name)}: ${text}`);
}

/** Prints rows in columns; all but the first column are aligned to the right. */
export function table(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of rows) {
    const cells = row.map((cell, column) => column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!));
    say(cells.join("   ").trimEnd());
  }
}
