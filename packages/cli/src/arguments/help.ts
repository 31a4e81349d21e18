import type { OptionSpec, Verb } from "../command.ts";
import { GLOBAL_OPTIONS } from "./command_line.ts";
import { STATUS } from "../failure.ts";
import { SCHEMES } from "../schemes/registry.ts";

/** The meanings of the exit statuses of most verbs. */
const STATUSES: Readonly<Record<number, string>> = {
  [STATUS.ok]: "done",
  [STATUS.failed]: "it failed",
  [STATUS.usage]: "the command line is wrong, or Deno denies a permission",
  [STATUS.unavailable]: "the store failed, or did not answer within 5 s",
  130: "ended by Ctrl-C (143 by SIGTERM, 141 because nobody reads the output)",
};

/** Returns the help of the program. */
export function programHelp(commands: readonly Verb[]): string {
  return [
    "Shows and manages the distributed locks of Holdfast.",
    "",
    "Usage: holdfast VERB [options]",
    "",
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    "",
    "Options:",
    ...columns(optionRows(GLOBAL_OPTIONS)),
    "",
    "The store is that of --store, else of HOLDFAST_STORE (several with spaces between them), else of the config file:",
    `  { "store": "redis://127.0.0.1:6379", "prefix": "billing:" }`,
    "",
    "Stores:",
    ...columns([
      ...SCHEMES.map(({ example, protocols }): [string, string] => [example, protocols.join(" ")]),
    ]),
    "",
    ...statusHelp({ ...STATUSES, [STATUS.busy]: "run, wait: the lock was busy until the time was over" }),
    "",
    "holdfast VERB --help tells more of a verb.",
  ].join("\n");
}

/** Returns the help of a verb. */
export function commandHelp({ name, summary, usage, options, examples, statuses = {} }: Verb): string {
  return [
    `${summary}.`,
    "",
    `Usage: holdfast ${name} ${usage}`,
    "",
    ...Object.keys(options).length === 0 ? [] : ["Options:", ...columns(optionRows(options)), ""],
    "Options of every verb:",
    ...columns(optionRows(GLOBAL_OPTIONS)),
    "",
    "Examples:",
    ...examples.flatMap(({ line, what }) => [`  # ${what}`, `  ${line}`]),
    "",
    ...statusHelp({ ...STATUSES, ...statuses }),
  ].join("\n");
}

function statusHelp(statuses: Readonly<Record<number, string | false>>): string[] {
  const had = Object.entries(statuses).filter((row): row is [string, string] => row[1] !== false);
  return ["Exit status:", ...columns(had)];
}

function optionRows(options: Readonly<Record<string, OptionSpec>>): [string, string][] {
  return Object.entries(options).map(([name, { short, value, help }]) => {
    const names = short === undefined ? `--${name}` : `-${short}, --${name}`;
    return [value === undefined ? names : `${names} ${value}`, help];
  });
}

/** Returns lines in two columns, indented. */
function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([first]) => first.length));
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`);
}
