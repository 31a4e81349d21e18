import { reason } from "@holdfast/lock/authors";
import process from "node:process";
import { errorText, STATUS } from "../failure.ts";
import { write } from "./terminal.ts";

/** The signals that end a command, with the exit status that a shell expects for each. */
const SIGNALS = [["SIGINT", 130], ["SIGTERM", 143]] as const;

/** The exit status that a shell expects for SIGPIPE: nobody reads the output. */
const PIPE_CLOSED = 141;

/** The reason why a command was ended from outside. */
export class Interruption extends Error {
  override readonly name = "Interruption";
  /** The exit status. */
  readonly status: number;

  /** Creates the reason for an exit status. */
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Watches for events that end a command: Ctrl-C, SIGTERM, and an output that cannot be written. */
export class Interruptions {
  readonly #controller = new AbortController();
  #brokenOutput: Interruption | undefined;
  readonly #listeners = SIGNALS.map(([name, status]) => {
    return [name, () => this.#controller.abort(new Interruption(`ended by ${name}`, status))] as const;
  });
  readonly #outputs = new Map([process.stdout, process.stderr].map((output) => {
    return [output, (error: unknown) => this.#outputFailed(output, error)] as const;
  }));
  /** The outputs that have failed. In Deno such an output never reports that everything was written. */
  readonly #failed = new Set<NodeJS.WriteStream>();

  /** Begins to watch. */
  constructor() {
    for (const [name, listener] of this.#listeners) process.on(name, listener);
    for (const [output, listener] of this.#outputs) output.on("error", listener);
  }

  /** Aborts with an {@linkcode Interruption}. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The outputs that can still be written to, as far as known. */
  get outputs(): NodeJS.WriteStream[] {
    return [...this.#outputs.keys()].filter((output) => !this.#failed.has(output));
  }

  /** The reason why the output is incomplete; `undefined` if it is complete. */
  get brokenOutput(): Interruption | undefined {
    return this.#brokenOutput;
  }

  /** Stops watching. */
  stop(): void {
    for (const [name, listener] of this.#listeners) process.off(name, listener);
    for (const [output, listener] of this.#outputs) output.off("error", listener);
  }

  #outputFailed(output: NodeJS.WriteStream, error: unknown): void {
    this.#failed.add(output);
    if (this.#brokenOutput !== undefined) return;
    const closed = Object(error).code === "EPIPE";
    const message = `cannot write: ${reason(error)}`;
    this.#brokenOutput = new Interruption(message, closed ? PIPE_CLOSED : STATUS.failed);
    this.#controller.abort(this.#brokenOutput);
    // To the output that has failed it would be in vain.
    if (!closed && output === process.stdout) write(process.stderr, errorText(message));
  }
}
