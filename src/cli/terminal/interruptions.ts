import { reason } from "../../internal/reason.ts";
import process from "node:process";
import { STATUS } from "../failure.ts";

/** The signals that end a command, with the exit status that a shell expects after each. */
const SIGNALS = [["SIGINT", 130], ["SIGTERM", 143]] as const;

/** What a shell expects after SIGPIPE: nobody reads the output any more. */
const PIPE_CLOSED = 141;

/** Why a command was ended from outside. */
export class Interruption extends Error {
  override readonly name = "Interruption";
  /** The exit status. */
  readonly status: number;

  /** Makes the reason that goes with an exit status. */
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Watches for what ends a command: Ctrl-C, SIGTERM, and an output that nobody reads any more. */
export class Interruptions {
  readonly #controller = new AbortController();
  #brokenOutput: Interruption | undefined;
  readonly #listeners = SIGNALS.map(([name, status]) => {
    return [name, () => this.#controller.abort(new Interruption(`ended by ${name}`, status))] as const;
  });
  readonly #outputFailed = (error: unknown): void => {
    const closed = Object(error).code === "EPIPE";
    this.#brokenOutput ??= new Interruption(`cannot write: ${reason(error)}`, closed ? PIPE_CLOSED : STATUS.failed);
    this.#controller.abort(this.#brokenOutput);
  };

  /** Begins to watch. */
  constructor() {
    for (const [name, listener] of this.#listeners) process.on(name, listener);
    process.stdout.on("error", this.#outputFailed);
    process.stderr.on("error", this.#outputFailed);
  }

  /** Aborts with an {@linkcode Interruption}. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why not all of the output was written; `undefined` if it was. */
  get brokenOutput(): Interruption | undefined {
    return this.#brokenOutput;
  }

  /** Stops watching. */
  stop(): void {
    for (const [name, listener] of this.#listeners) process.off(name, listener);
    process.stdout.off("error", this.#outputFailed);
    process.stderr.off("error", this.#outputFailed);
  }
}
