import type { OptionSpec } from "../command.ts";

/** The grammar of the command line, for a completion script. */
export interface Grammar {
  readonly verbs: readonly VerbGrammar[];
  /** The options of every verb. */
  readonly options: Readonly<Record<string, OptionSpec>>;
}

/** The grammar of one verb. */
export interface VerbGrammar {
  readonly name: string;
  readonly summary: string;
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** The words that the verb takes, where they are few. */
  readonly words: readonly string[];
  /** Whether its first word is the name of a lock, or a pattern of names. */
  readonly takesName: boolean;
  /** Whether a command follows after two dashes. */
  readonly takesCommand: boolean;
}

/** Returns the options that have a value, of all verbs: the word after such an option is no verb. */
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
