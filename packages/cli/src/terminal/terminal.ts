import process from "node:process";
import { createInterface } from "node:readline";
import { setImmediate } from "node:timers";
import { isatty } from "node:tty";
import type { Terminal, TerminalSize } from "../command.ts";
import { type Environment, styleVariable } from "../arguments/environment.ts";

/** The wishes of the user for the output. */
export interface TerminalOptions {
  readonly json: boolean;
  /** Whether colours are wanted where they can be shown. */
  readonly colours: boolean;
  readonly env: Environment;
  /** Ends a question. */
  readonly signal: AbortSignal;
}

/** The styles of a text on a terminal. */
const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

/** Returns a text in a style, on a terminal that shows colours. */
export function paint({ colours }: Pick<Terminal, "colours">, style: keyof typeof STYLES, text: string): string {
  return colours ? `\x1b[${STYLES[style]}m${text}\x1b[0m` : text;
}

/** Makes the terminal of this process. */
export function processTerminal({ json, colours, env, signal }: TerminalOptions): Terminal {
  const { stdout, stderr } = process;
  const isTerminal = isatty(1) && styleVariable(env, "TERM") !== "dumb";
  const terminal: Terminal = {
    json,
    colours: colours && isTerminal && !json && !styleVariable(env, "NO_COLOR"),
    attended: isatty(2),
    out: (line) => write(stdout, `${line}\n`),
    err: (line) => write(stderr, `${line}\n`),
    size: () => isTerminal ? sizeOf(stdout) : undefined,
  };
  // Not process.stdin: to look at it makes a pipe non-blocking, also for a program that is started with it.
  if (!isatty(0) || !isatty(2)) return terminal;
  return { ...terminal, ask: (question) => ask(question, signal) };
}

/** Writes to an output of this process. A failure is its event `error`, also in Deno, which throws for a file. */
export function write(output: NodeJS.WriteStream, text: string): void {
  try {
    output.write(text);
  } catch (error) {
    output.emit("error", error);
  }
}

/** Resolves when everything written to these outputs has arrived, or nobody reads it. */
export async function flushed(outputs: Iterable<NodeJS.WriteStream>): Promise<void> {
  for (const output of outputs) {
    await new Promise<void>((resolve) => {
      if (output.writableLength === 0 || output.destroyed) return resolve();
      output.write("", () => resolve());
    });
  }
  // Node tells in its next turn that a write to a file has failed.
  await new Promise<void>((resolve) => void setImmediate(resolve));
}

function sizeOf({ columns, rows }: { columns?: number; rows?: number }): TerminalSize {
  // Some terminals do not say.
  return { columns: columns || 80, rows: rows || 24 };
}

function ask(question: string, signal: AbortSignal): Promise<string> {
  // Not as a terminal: it would keep Ctrl-C to itself.
  const lines = createInterface({ input: process.stdin, terminal: false });
  let abort = () => {};
  return new Promise<string>((resolve, reject) => {
    // What comes next does not belong behind the question.
    const unanswered = (end: () => void) => {
      write(process.stderr, "\n");
      end();
    };
    if (signal.aborted) return reject(signal.reason);
    abort = () => unanswered(() => reject(signal.reason));
    signal.addEventListener("abort", abort, { once: true });
    write(process.stderr, question);
    // Ctrl-D is no answer.
    const closed = () => unanswered(() => resolve(""));
    lines.once("close", closed);
    lines.once("line", (line) => {
      lines.off("close", closed);
      resolve(line);
    });
  }).finally(() => {
    signal.removeEventListener("abort", abort);
    lines.removeAllListeners("close");
    lines.close();
  });
}
