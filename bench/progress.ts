/** Says on stderr what is being measured: in one line that changes on a terminal, else one line for each row. */
export class Progress {
  readonly #terminal = Deno.stderr.isTerminal();
  #row = "";
  #shown = 0;

  /** Notes that a row begins. */
  begin(row: string): void {
    this.#row = row;
    if (!this.#terminal) console.error(`${row} …`);
  }

  /** Shows how far the row is. */
  show(text: string): void {
    // Ten times a second: writing takes time that would be measured.
    if (!this.#terminal || performance.now() - this.#shown < 100) return;
    this.#shown = performance.now();
    this.#write(`${this.#row}: ${text}`);
  }

  /** Takes the line away. */
  end(): void {
    if (this.#terminal) this.#write("");
  }

  #write(text: string): void {
    Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text}`));
  }
}
