/** What to do when the library that shifts the clock cannot be compiled. */
const REMEDY = 'install one with "apt-get install gcc libc6-dev"';

/** The wall clock of processes that are started with an environment of its own. */
export class ShiftedClock implements AsyncDisposable {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Compiles the library that shifts it; rejects with a sentence that says why when that cannot be done. */
  static async make(): Promise<ShiftedClock> {
    const directory = await Deno.makeTempDir({ prefix: "holdfast_clock_" });
    const clock = new ShiftedClock(directory);
    try {
      await compile(`${import.meta.dirname}/clock_shift.c`, clock.#library);
      await clock.shift(0);
      return clock;
    } catch (error) {
      await clock[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What a process must find in its environment. */
  get env(): Record<string, string> {
    return { LD_PRELOAD: this.#library, CLOCK_SHIFT_FILE: this.#file };
  }

  /** Sets it to the true time and `ms` milliseconds. */
  async shift(ms: number): Promise<void> {
    await Deno.writeTextFile(this.#file, `${ms}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#directory, { recursive: true });
  }

  get #library(): string {
    return `${this.#directory}/clock_shift.so`;
  }

  get #file(): string {
    return `${this.#directory}/shift`;
  }
}

/** Compiles a library with the C compiler that the test command has found, or the first that there is. */
async function compile(source: string, library: string): Promise<void> {
  const named = Deno.env.get("CC");
  const args = ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", library, source];
  for (const compiler of named ? [named] : ["cc", "gcc", "clang"]) {
    try {
      const { success, stderr } = await new Deno.Command(compiler, { args, stderr: "piped" }).output();
      if (success) return;
      throw new Error(`${compiler} fails: ${REMEDY}. It says: ${new TextDecoder().decode(stderr)}`);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  throw new Error(`no C compiler: ${REMEDY}`);
}
