import { assert } from "@std/assert";
import { deadline } from "@std/async";
import { withoutCoverage } from "./without_coverage.ts";

/** How long a program may take on a busy machine, in milliseconds. */
const LIMIT = 60_000;

/** How long it may take to stop on a signal, in milliseconds. */
const GRACE = 5_000;

/** A directory of a test, and the directory for temporary files of the programs that it runs. */
export class Directory implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "holdfast_examples_" });

  /** Returns the files that programs left in it, and the processes that got its path. */
  leftovers(): string[] {
    const files = Array.from(Deno.readDirSync(this.path), ({ name }) => name);
    return [...files, ...this.#processes().map(({ command }) => command)];
  }

  /** Kills the processes that got its path. */
  clear(): void {
    for (const { id } of this.#processes()) Deno.kill(id, "SIGKILL");
  }

  #processes(): { id: number; command: string }[] {
    return commands().filter(({ command }) => command.includes(this.path));
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

/** Returns the command lines of all processes. */
function commands(): { id: number; command: string }[] {
  if (Deno.build.os !== "linux") {
    const { stdout } = new Deno.Command("ps", { args: ["-A", "-o", "pid=,args="] }).outputSync();
    const lines = new TextDecoder().decode(stdout).split("\n");
    return lines.map((line) => ({ id: parseInt(line), command: line.trim() }));
  }
  // Small Linux images have no ps.
  return Array.from(Deno.readDirSync("/proc"), ({ name }) => Number(name)).filter(Number.isInteger).map((id) => {
    try {
      return { id, command: Deno.readTextFileSync(`/proc/${id}/cmdline`).replaceAll("\0", " ") };
    } catch {
      return { id, command: "" }; // It has just ended.
    }
  });
}

/** A program of the examples that runs in the way that its own comment describes. */
export class Program implements AsyncDisposable {
  output = "";
  errors = "";
  readonly #directory: Directory;
  readonly #process: Deno.ChildProcess;
  readonly #ended: Promise<unknown>;
  #news = Promise.withResolvers<void>();

  constructor(
    directory: Directory,
    name: string,
    args: string[] = [],
    flags: string[] = [],
    env: Record<string, string> = {},
  ) {
    this.#directory = directory;
    const file = new URL(`../../examples/${name}`, import.meta.url);
    const documented = Deno.readTextFileSync(file).match(new RegExp(`deno run (.*)examples/${name}`))?.[1];
    assert(documented !== undefined, `${name} does not say how to run it`);
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", ...flags, ...documented.split(" ").filter((flag) => flag !== ""), file.href, ...args],
      cwd: directory.path,
      clearEnv: true,
      env: { ...withoutCoverage(), ...env, TMPDIR: directory.path },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const { stdout, stderr, status } = this.#process;
    this.#ended = Promise.all([
      this.#read(stdout, (text) => this.output += text),
      this.#read(stderr, (text) => this.errors += text),
      status,
    ]).finally(() => this.#news.resolve());
  }

  async #read(stream: ReadableStream<Uint8Array<ArrayBuffer>>, add: (text: string) => void): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      add(text);
      this.#news.resolve();
      this.#news = Promise.withResolvers();
    }
  }

  /** Resolves when it has printed a text. */
  async printed(text: string): Promise<void> {
    let ended = false;
    const end = this.#ended.then(() => ended = true);
    while (!this.output.includes(text)) {
      assert(!ended, `${JSON.stringify(text)} was never printed:\n${this}`);
      await deadline(Promise.race([end, this.#news.promise]), LIMIT);
    }
  }

  /** Resolves to its exit status. */
  async status(): Promise<number> {
    await deadline(this.#ended, LIMIT);
    return (await this.#process.status).code;
  }

  /** Sends it a signal, unless it has ended. */
  kill(signal: Deno.Signal): void {
    try {
      this.#process.kill(signal);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** Returns what a failed assertion should show. */
  toString(): string {
    return `${this.output}\n${this.errors}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("SIGTERM");
    const timer = setTimeout(() => this.kill("SIGKILL"), GRACE);
    await this.#process.status;
    clearTimeout(timer);
    // Processes of its own that it left behind keep its pipes open.
    this.#directory.clear();
    await this.#ended;
  }
}
