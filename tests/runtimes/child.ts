/** A process in a group of its own, which ends with it: some runtimes are several processes. */
export class Child implements Disposable {
  readonly stdout: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** All that it has complained about, when it has ended. */
  readonly errors: Promise<string>;
  readonly #process: Deno.ChildProcess;
  readonly #over: AbortSignal;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #kill = (): void => {
    try {
      Deno.kill(-this.#process.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  };

  /** Starts it; it is killed when the signal aborts. */
  constructor([program = "", ...args]: readonly string[], env: Record<string, string>, cwd: string, over: AbortSignal) {
    over.throwIfAborted();
    this.#process = new Deno.Command(program, {
      ...{ args, cwd, env: { ...env, NO_COLOR: "1" }, detached: true },
      ...{ stdin: "null", stdout: "piped", stderr: "piped" },
    }).spawn();
    this.stdout = this.#process.stdout;
    this.errors = new Response(this.#process.stderr).text();
    this.#over = over;
    over.addEventListener("abort", this.#kill);
  }

  /** Kills it in `ms` milliseconds from now, unless this is called again before. */
  limit(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#kill, ms);
  }

  /** How it has failed, if it has. */
  async failure(): Promise<string | undefined> {
    const { success, code, signal } = await this.#process.status;
    this.#over.throwIfAborted();
    return success ? undefined : `${signal ?? `exit status ${code}`}\n${await this.errors}`;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#over.removeEventListener("abort", this.#kill);
    this.#kill();
  }
}
