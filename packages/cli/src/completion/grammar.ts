import type { OptionSpec } from "../command.ts";

/** What a completion script has to know of the command line. */
export interface Grammar {
  readonly verbs: readonly VerbGrammar[];
  /** The options of every verb. */
  readonly options: Readonly<Record<string, OptionSpec>>;
}

/** What it has to know of a verb. */
export interface VerbGrammar {
  readonly name: string;
  readonly summary: string;
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** The words that it takes, as far as there are only a few. */
  readonly words: readonly string[];
  /** Whether a command follows behind two dashes. */
  readonly takesCommand: boolean;
}

/** Returns the options that have a value, of all verbs: the word behind one of them is no verb. */
export function optionsWithValues({ verbs, options }: Grammar): string[] {
  const all = [options, ...verbs.map(({ options }) => options)].flatMap((each) => Object.entries(each));
  return [...new Set(all.filter(([, { type }]) => type === "string").map(([name]) => `--${name}`))];
}

/** Returns the options of all verbs that take one of a few values, by their names without dashes. */
export function valuesOfOptions({ verbs }: Grammar): Readonly<Record<string, readonly string[]>> {
  const all = verbs.flatMap(({ options }) => Object.entries(options));
  return Object.fromEntries(all.flatMap(([name, { values }]) => values === undefined ? [] : [[name, values]]));
}

/** Returns a text in single quotes for bash and zsh. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
