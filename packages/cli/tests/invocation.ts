import { readCommandLine } from "../src/arguments/command_line.ts";
import type { Invocation, OptionSpec } from "../src/command.ts";
import type { OpenedStore } from "../src/schemes/scheme.ts";

/** Where a command of a test runs. */
interface Place {
  readonly store: () => Promise<OpenedStore>;
  /** Takes each line that goes to the standard error. */
  readonly err: (line: string) => void;
  readonly json?: boolean;
  readonly attended?: boolean;
  readonly signal?: AbortSignal;
}

/** Returns what a command is asked to do by the words behind its name. */
export function invocation(
  words: readonly string[],
  specs: Readonly<Record<string, OptionSpec>>,
  { store, err, json = false, attended = false, signal = new AbortController().signal }: Place,
): Invocation {
  return {
    ...readCommandLine(words, specs),
    terminal: { json, colours: false, attended, out: console.log, err },
    env: Deno.env.toObject(),
    signal,
    store,
    examine: () => Promise.resolve([]),
  };
}
