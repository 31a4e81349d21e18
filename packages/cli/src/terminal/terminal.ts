import process from "node:process";
import { createInterface } from "node:readline";
import { isatty } from "node:tty";
import type { Terminal, TerminalSize } from "../command.ts";
import { type Environment, styleVariable } from "../arguments/environment.ts";

/** How the output is wanted. */
export interface TerminalOptions {
  readonly json: boolean;
  /** Whether colours are wanted where they can be shown. */
  readonly colours: boolean;
  readonly env: Environment;
  /** Ends a question. */
  readonly signal: AbortSignal;
}

/** How a text looks on a terminal. */
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
    out: (line) => void stdout.write(`${line}\n`),
    err: (line) => void stderr.write(`${line}\n`),
    size: () => isTerminal ? sizeOf(stdout) : undefined,
  };
  // Not process.stdin: to look at it makes a pipe non-blocking, also for a program that is started with it.
  if (!isatty(0) || !isatty(2)) return terminal;
  return { ...terminal, ask: (question) => ask(question, signal) };
}

/** Resolves when all that was written has gone to where it goes; also if nobody reads it any more. */
export async function flushed(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((resolve) => {
      if (stream.writableLength === 0 || stream.destroyed) return resolve();
      stream.write("", () => resolve());
    });
  }
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
      process.stderr.write("\n");
      end();
    };
    if (signal.aborted) return reject(signal.reason);
    abort = () => unanswered(() => reject(signal.reason));
    signal.addEventListener("abort", abort, { once: true });
    process.stderr.write(question);
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
