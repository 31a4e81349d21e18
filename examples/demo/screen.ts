/** The least time between two updates of a progress line, in milliseconds: what an eye can follow. */
const FRAME = 50;

/** Moves to the start of the line and clears it. */
const AGAIN = "\r\x1b[K";

/** How far a phase has come: one line that changes on a terminal, a few lines elsewhere. */
export class Progress {
  readonly #total: number;
  readonly #live = Deno.stdout.isTerminal();
  #shown = -Infinity;

  /** Of so many steps. */
  constructor(total: number) {
    this.#total = total;
  }

  /** Shows how far it has come, if it is time to. */
  step(done: number, text: string): void {
    if (!this.#live) {
      if (done % Math.ceil(this.#total / 4) === 0 && done < this.#total) say(text);
      return;
    }
    const now = performance.now();
    if (now - this.#shown < FRAME) return;
    this.#shown = now;
    this.#write(`${AGAIN}   ${text}`);
  }

  /** Shows how it ended. */
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

/** Prints what a phase is about. */
export function title(text: string): void {
  console.log(`\n${text}`);
}

/** Prints rows in columns; all but the first column are aligned to the right. */
export function table(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of rows) {
    const cells = row.map((cell, column) => column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!));
    say(cells.join("   ").trimEnd());
  }
}
