import type { Store } from "@holdfast/lock";
import type { Terminal, TerminalSize, Verb } from "../src/command.ts";
import type { OpenedStore } from "../src/schemes/scheme.ts";
import { readCommandLine } from "../src/arguments/command_line.ts";

/** How a command is invoked in the process of the test. */
export interface Invoking {
  readonly colours?: boolean;
  readonly size?: TerminalSize;
  /** Whether somebody reads the standard error. */
  readonly attended?: boolean;
  /** What is answered to a question; without it nobody can be asked. */
  readonly answer?: string;
  readonly signal?: AbortSignal;
  /** What else is known of the store. */
  readonly opened?: Partial<OpenedStore>;
  /** Is called with each line of output. */
  readonly onLine?: (line: string) => void;
  /** Is called with each line of the standard error. */
  readonly onError?: (line: string) => void;
}

/** What became of it. */
export interface Invoked {
  readonly status: number;
  readonly out: readonly string[];
  readonly err: readonly string[];
}

/** The name of the store in messages. */
const LABEL = "memory";

/** A store that can do no more than every store, and does nothing. */
export const IDLE: Store = {
  attempt: () => Promise.resolve({ granted: false, retryAfter: 1_000 }),
  renew: () => Promise.resolve("lost"),
  release: () => Promise.resolve(false),
  drift: () => 0,
};

/** Runs a command on a store, with a terminal that keeps what is written. */
export async function invoke(
  command: Verb,
  store: Store,
  words: readonly string[],
  {
    colours = false,
    size,
    answer,
    attended = true,
    signal = new AbortController().signal,
    opened = {},
    onLine,
    onError,
  }: Invoking = {},
): Promise<Invoked> {
  const { global, options, lists, args, rest } = readCommandLine(words, command.options);
  const out: string[] = [];
  const err: string[] = [];
  const terminal: Terminal = {
    json: global.json,
    colours,
    out: (line) => {
      out.push(line);
      onLine?.(line);
    },
    err: (line) => {
      err.push(line);
      onError?.(line);
    },
    size: () => size,
    attended,
    ...answer === undefined ? {} : {
      ask: (question) => {
        err.push(question);
        return Promise.resolve(answer);
      },
    },
  };
  const place = { store, label: LABEL, ...opened, [Symbol.asyncDispose]: () => Promise.resolve() };
  const status = await command.run({
    ...{ options, lists, args, rest, terminal, env: {}, signal },
    store: () => Promise.resolve(place),
    examine: () => Promise.resolve([]),
  });
  return { status, out, err };
}
