import { lines } from "./lines.ts";
import { withoutCoverage } from "./without_coverage.ts";

/** A program of the tests in a process of its own, with pipes for its input and output; killed when it is disposed. */
export class DenoProcess implements AsyncDisposable {
  /** The lines that it writes. Who starts it reads them to their end. */
  readonly lines: AsyncGenerator<string>;
  readonly status: Promise<Deno.CommandStatus>;
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;

  /** Starts the program with this address, such as `import.meta.resolve("./worker.ts")`, and with these variables. */
  constructor(program: string | { readonly program: string; readonly env: Record<string, string> }, ...args: string[]) {
    const { program: address, env } = typeof program === "string" ? { program, env: {} } : program;
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", address, ...args],
      clearEnv: true,
      env: { ...withoutCoverage(), ...env },
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.status = this.#process.status;
    this.lines = lines(this.#process.stdout);
    this.#input = this.#process.stdin.getWriter();
    this.#input.closed.catch(() => {}); // The call that writes rejects.
  }

  /** Writes to its input. */
  async write(text: string): Promise<void> {
    await this.#input.write(new TextEncoder().encode(text));
  }

  /** Ends its input. */
  async endInput(): Promise<void> {
    await this.#input.close().catch(() => {}); // It has ended, or this was done before.
  }

  /** Resolves when it has ended, to all that it has written; rejects when it failed. */
  async output(): Promise<string> {
    const written = await Array.fromAsync(this.lines);
    const { success, code, signal } = await this.status;
    if (!success) throw new Error(`a process died with ${signal ?? `status ${code}`}`);
    return written.join("\n");
  }

  /** Sends it a signal, unless it has ended. */
  signal(signal: Deno.Signal): void {
    try {
      this.#process.kill(signal);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** Kills it without a warning, and resolves when it is gone. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.status;
    await this.#input.abort().catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
