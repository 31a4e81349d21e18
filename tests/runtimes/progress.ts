import type { Outcome } from "./run.ts";

/**
 * Says on stderr how far everything is: in one line that changes on a terminal, else one line for each that is done.
 */
export class Progress {
  readonly #terminal = Deno.stderr.isTerminal();
  readonly #counts: Map<string, string>;
  #shown = 0;

  constructor(names: readonly string[]) {
    this.#counts = new Map(names.map((name) => [name, "0"]));
  }

  /** What is being done before the tests. */
  say(text: string): void {
    if (this.#terminal) this.#write(`${text} …`);
    else console.error(`${text} …`);
  }

  /** How many tests have ended. */
  tell(name: string, ended: number): void {
    this.#counts.set(name, `${ended}`);
    if (!this.#terminal || performance.now() - this.#shown < 100) return;
    this.#shown = performance.now();
    this.#write([...this.#counts].map(([name, count]) => `${name} ${count}`).join("  "));
  }

  /** That all tests of one have ended. */
  done(name: string, { passed, failures }: Outcome): void {
    const text = `${name}: ${passed} passed, ${failures.length} failed`;
    if (this.#terminal) this.#write("");
    console.error(text);
  }

  /** Takes the line away. */
  end(): void {
    if (this.#terminal) this.#write("");
  }

  #write(text: string): void {
    Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text}`));
  }
}
