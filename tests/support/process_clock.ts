import { compile } from "./c_compiler.ts";

/** How long the text in a file is, in bytes: as long as what a process reads of it. */
const LENGTH = 31;

/** The wall clock of processes that are started with an environment of its own; the true time until it is set. */
export class ProcessClock implements Disposable {
  readonly #directory: string;
  readonly #file: string;
  readonly #others: ProcessClock[] = [];

  private constructor(directory: string, number = 0) {
    this.#directory = directory;
    this.#file = `${directory}/clock${number}`;
  }

  /** Compiles the library that sets it; rejects with a sentence that says why when that cannot be done. */
  static async make(): Promise<ProcessClock> {
    const clock = new ProcessClock(await Deno.makeTempDir({ prefix: "holdfast_clock_" }));
    try {
      // Servers that do not run as root read it, too.
      await Deno.chmod(clock.#directory, 0o755);
      await compile(`${import.meta.dirname}/process_clock.c`, clock.#library, ["-shared", "-fPIC"]);
      clock.shift(0);
      return clock;
    } catch (error) {
      clock[Symbol.dispose]();
      throw error;
    }
  }

  /** Returns another clock, which is gone with this one. */
  another(): ProcessClock {
    const clock = new ProcessClock(this.#directory, this.#others.length + 1);
    this.#others.push(clock);
    clock.shift(0);
    return clock;
  }

  /** What a process must find in its environment. */
  get env(): Record<string, string> {
    return { LD_PRELOAD: this.#library, CLOCK_FILE: this.#file };
  }

  /** Sets it to the true time and `ms` milliseconds. */
  shift(ms: number): void {
    this.#write(`${Math.round(ms * 1_000)}`);
  }

  /** Lets it stand still, so many microseconds after 1970. */
  stop(us: number): void {
    this.#write(`@${us}`);
  }

  /** Writes all at once: while a file is empty, a process that has not looked for a while goes by what it saw then. */
  #write(text: string): void {
    using file = Deno.openSync(this.#file, { write: true, create: true });
    file.writeSync(new TextEncoder().encode(text.padEnd(LENGTH)));
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#directory, { recursive: true });
  }

  get #library(): string {
    return `${this.#directory}/process_clock.so`;
  }
}
