import type { OptionSpec } from "../command.ts";
import type { Grammar } from "./grammar.ts";

/** The command with which fish gets the names of locks. */
const NAMES = "(holdfast completion names (commandline -ct) 2>/dev/null)";

/** Returns the completion script for fish. */
export function fish({ verbs, options }: Grammar): string {
  const none = `not __fish_seen_subcommand_from ${verbs.map(({ name }) => name).join(" ")}`;
  return [
    "# Completion of holdfast in fish: holdfast completion fish > ~/.config/fish/completions/holdfast.fish",
    "complete -c holdfast -f",
    ...Object.entries(options).map((option) => lineOf(option)),
    ...verbs.map(({ name, summary }) => `complete -c holdfast -n ${quoted(none)} -a ${name} -d ${quoted(summary)}`),
    ...verbs.flatMap(({ name, options: own, words, takesName }) => {
      const seen = `__fish_seen_subcommand_from ${name}`;
      return [
        ...takesName ? [`complete -c holdfast -n ${quoted(seen)} -a ${quoted(NAMES)}`] : [],
        ...words.map((word) => `complete -c holdfast -n ${quoted(seen)} -a ${word}`),
        ...Object.entries(own).map((option) => lineOf(option, seen)),
      ];
    }),
  ].join("\n");
}

function lineOf([name, { type, short, values, help }]: [string, OptionSpec], condition?: string): string {
  return [
    "complete -c holdfast",
    ...condition === undefined ? [] : [`-n ${quoted(condition)}`],
    `-l ${name}`,
    ...short === undefined ? [] : [`-s ${short}`],
    ...type === "boolean" ? [] : [name === "config" ? "-r -F" : "-x"],
    ...values === undefined ? [] : [`-a ${quoted(values.join(" "))}`],
    `-d ${quoted(help)}`,
  ].join(" ");
}

/** Returns a text in single quotes, in which fish has two escapes. */
function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, "\\$&")}'`;
}
