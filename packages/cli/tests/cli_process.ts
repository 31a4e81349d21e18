import { inTime } from "../../../tests/support/in_time.ts";
import { until } from "../../../tests/support/until.ts";
import { withoutCoverage } from "../../../tests/support/without_coverage.ts";

const PROGRAM = import.meta.resolve("../mod.ts");

/** How long a command may take on a busy machine, in milliseconds. */
export const LIMIT = 60_000;

/** How a command is started. */
export interface Start {
  /** The URLs of the store, for `--store`. */
  readonly store?: string | readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The permissions; all by default. */
  readonly flags?: readonly string[];
}

/** What became of a command. */
export interface Result {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** A command that runs. */
export class CliProcess implements AsyncDisposable {
  out = "";
  err = "";
  readonly #process: Deno.ChildProcess;
  readonly #read: Promise<unknown>;

  /** Starts it. */
  constructor(args: readonly string[], start: Start = {}) {
    const { cwd, flags = ["--allow-all"] } = start;
    const { words, env } = commandOf(args, start);
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--no-prompt", ...flags, PROGRAM, ...words],
      ...cwd === undefined ? {} : { cwd },
      clearEnv: true,
      env,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>, add: (text: string) => void) => {
      for await (const text of stream.pipeThrough(new TextDecoderStream())) add(text);
    };
    const { stdout, stderr } = this.#process;
    this.#read = Promise.all([read(stdout, (text) => this.out += text), read(stderr, (text) => this.err += text)]);
  }

  /** Resolves when it has written a text to its output. */
  async printed(text: string): Promise<void> {
    await until(
      () => this.out.includes(text),
      `${JSON.stringify(text)} in ${JSON.stringify(this.out + this.err)}`,
      LIMIT,
    );
  }

  /** Sends it a signal. */
  signal(signal: Deno.Signal): void {
    this.#process.kill(signal);
  }

  /** Resolves when it has ended by itself. */
  async end(): Promise<Result> {
    const { code: status } = await inTime(this.#process.status, LIMIT, "the command");
    await this.#read;
    return { status, out: this.out, err: this.err };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // It has ended.
    }
    await this.#process.status;
    await this.#read;
  }
}

/** Returns all words of a command, and its environment. */
export function commandOf(
  args: readonly string[],
  { store = [], env = {} }: Start,
): { readonly words: readonly string[]; readonly env: Readonly<Record<string, string>> } {
  const { HOLDFAST_STORE: _, NO_COLOR: __, ...inherited } = withoutCoverage();
  const stores = [store].flat().flatMap((url) => ["--store", url]);
  return { words: [...stores, ...args], env: { ...inherited, ...env } };
}

/** Runs a command to its end, in a process of its own. */
export async function holdfast(args: readonly string[], start?: Start): Promise<Result> {
  await using command = new CliProcess(args, start);
  return await command.end();
}

/** Returns the lines of an output, each read as JSON. */
export function jsonLines<T>(out: string): T[] {
  return out.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}
