import { parseArgs } from "node:util";
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
  const dashes = words.indexOf("--");
  const end = dashes < 0 ? words.length : dashes;
  const options = Object.fromEntries(Object.entries(specs).map(([name, { type }]) => [name, { type, multiple: true }]));
  const { values, positionals } = parseArgs({ args: words.slice(0, end), options, allowPositionals: true });
  const lists = Object.fromEntries(Object.entries(values).map(([name, all = []]) => [name, [all].flat()]));
  return {
    options: Object.fromEntries(Object.entries(lists).map(([name, all]) => [name, all.at(-1)])),
    lists: Object.fromEntries(Object.entries(lists).map(([name, all]) => [name, all.map(String)])),
    args: positionals,
    rest: words.slice(end + 1),
    terminal: { json, colours: false, attended, out: console.log, err },
    env: Deno.env.toObject(),
    signal,
    store,
    examine: () => Promise.resolve([]),
  };
}
