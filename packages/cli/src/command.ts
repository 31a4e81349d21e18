import type { Finding } from "./doctor/finding.ts";
import type { OpenedStore, OpenOptions } from "./schemes/scheme.ts";

/** An option of the command line: `--name VALUE`, or `--name` alone for a switch. */
export interface OptionSpec {
  readonly type: "string" | "boolean";
  readonly short?: string;
  /** Whether it may be given several times; the values are in {@linkcode Invocation.lists}. */
  readonly multiple?: boolean;
  /** The name of the value in the help, such as `MS`. */
  readonly value?: string;
  /** The values that the option takes, where they are few. */
  readonly values?: readonly string[];
  /** One line of help. */
  readonly help: string;
}

/** The output of a command. */
export interface Terminal {
  /** Whether `--json` was given: a command then writes JSON only, a document or one per line. */
  readonly json: boolean;
  /** Whether the output is a terminal that shows colours. */
  readonly colours: boolean;
  /** Writes a line to the standard output. */
  out(line: string): void;
  /** Writes a line to the standard error. */
  err(line: string): void;
  /** Whether the standard error is a terminal, at which somebody may look. */
  readonly attended?: boolean;
  /** Returns the size of the terminal, at present; `undefined` if the output goes elsewhere. */
  size?(): TerminalSize | undefined;
  /** Asks a question and resolves to the line that is typed; left out where there is no keyboard. */
  ask?(question: string): Promise<string>;
}

/** The size of a terminal, in characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** The command line and the environment of one command. */
export interface Invocation {
  /** The values of the options, by their names without dashes. */
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  /** All values of the options that may be given several times, by their names, in the order given. */
  readonly lists?: Readonly<Record<string, readonly string[]>>;
  /** The words without options, up to `--`. */
  readonly args: readonly string[];
  /** The words after `--`. */
  readonly rest: readonly string[];
  readonly terminal: Terminal;
  /** The environment variables that the command may read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts when the command is to end: Ctrl-C, SIGTERM. */
  readonly signal: AbortSignal;
  /** Opens the store of `--store`, `HOLDFAST_STORE` or the config file; closed when the command ends. */
  store(options?: OpenOptions): Promise<OpenedStore>;
  /** Examines the store and the process. */
  examine(): Promise<Finding[]>;
}

/** A verb of the command line. */
export interface Verb {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** The words after the verb, such as `NAME [options] -- COMMAND…`. */
  readonly usage: string;
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Example command lines, each with a line of explanation. */
  readonly examples: readonly { readonly line: string; readonly what: string }[];
  /**
   * The meanings of its exit statuses, where they differ from the general help; `false` for a status that it cannot
   * have.
   */
  readonly statuses?: Readonly<Record<number, string | false>>;
  /** Resolves to the exit status. */
  run(invocation: Invocation): Promise<number>;
}

/** A wrong command line. The message says what is wrong, and what to do instead. The exit status is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
