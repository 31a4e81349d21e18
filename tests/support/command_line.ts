import { parseArgs, type ParseArgsOptionDescriptor } from "node:util";
import { reason } from "./interruption.ts";

/** The exit status for a wrong command line, as shells have it. */
export const MISUSED = 2;

/** The exit status after an interruption by Ctrl-C, as shells have it. */
export const INTERRUPTED = 130;

/** The width of the lines of help. */
const COLUMNS = 80;

/** The largest number of an option that has no other bound. */
const MOST = 2 ** 32 - 1;

/** An option, or what the words that are no options are for: a command has all words behind the first one. */
export interface Option<T> {
  readonly kind: "flag" | "value" | "words" | "command";
  /** What stands for the value, or for the words, in the help. */
  readonly value: string;
  readonly help: string;
  /** Reads all that was given; throws an `Error` that names the option and quotes the value. */
  readonly read: (given: readonly string[], option: string) => T;
}

/** What the command line of a program can say. */
export interface Program<T> {
  readonly about: string;
  /** How it is started. */
  readonly usage: string;
  /** Its options by the keys of what is read: `noFences` is `--no-fences`. */
  readonly options: { readonly [K in keyof T]: Option<T[K]> };
  /** What the help ends with. */
  readonly notes?: string;
  /** Throws an `Error` when the options do not go together. */
  readonly check?: (options: T) => void;
}

/** What the command line of a program asks for. */
export type OptionsOf<P> = P extends Program<infer T> ? Readonly<T> : never;

/** Returns the program, which has the types of what its options are read as. */
export function program<T>(program: Program<T>): Program<T> {
  return program;
}

/** An option without a value. */
export function flag(help: string): Option<boolean> {
  return { kind: "flag", value: "", help, read: (given) => given.length > 0 };
}

/** An option with a value. The last one counts; without one it is the default. */
export function option<T, D extends T | undefined = undefined>(
  value: string,
  help: string,
  read: (text: string, option: string) => T,
  byDefault?: D,
): Option<T | D> {
  return {
    kind: "value",
    value,
    help: byDefault === undefined ? help : `${help} (default: ${byDefault})`,
    read: (given, option) => given.length === 0 ? byDefault as D : read(given.at(-1)!, option),
  };
}

/** An option whose value is a path. */
export function path(value: string, help: string): Option<string | undefined> {
  return option(value, help, (given, option) => {
    if (given === "") throw new Error(`${option} needs a value: got ""`);
    return given;
  });
}

/** An option whose value is a whole number. */
export function whole<D extends number | undefined = undefined>(
  value: string,
  help: string,
  range: { readonly least: number; readonly most?: number; readonly default?: D },
): Option<number | D> {
  const { least, most = MOST } = range;
  const shown = range.most === undefined ? help : `${help}, ${least} to ${most}`;
  return option<number, D>(value, shown, (given, option) => {
    const number = Number(given);
    if (given.trim() !== "" && Number.isInteger(number) && number >= least && number <= most) return number;
    throw new Error(`${option} must be a whole number from ${least} to ${most}: got "${given}"`);
  }, range.default);
}

/** An option whose value is one of some names. */
export function choice<T extends string, D extends T | undefined = undefined>(
  value: string,
  help: string,
  all: readonly T[],
  byDefault?: D,
): Option<T | D> {
  return option<T, D>(value, help, (given, option) => known(given, all, option), byDefault);
}

/** An option whose values are names: several with commas, or given again. */
export function list(value: string, help: string): Option<readonly string[]> {
  const read = (given: readonly string[]) => given.flatMap((names) => names.split(",")).map((name) => name.trim());
  return { kind: "value", value, help, read: (given) => read(given).filter((name) => name !== "") };
}

/** An option whose values are some of all names. Reads them in the order of all; none given are all. */
export function choices(value: string, help: string, all: readonly string[]): Option<readonly string[]> {
  const names = list(value, help);
  return {
    ...names,
    read: (given, option) => {
      const chosen = names.read(given, option).map((name) => known(name, all, option));
      return all.filter((name) => chosen.length === 0 || chosen.includes(name));
    },
  };
}

function known<T extends string>(name: string, all: readonly T[], option: string): T {
  const found = all.find((each) => each === name);
  if (found === undefined) throw new Error(`${option} must be one of ${all.join(", ")}: got "${name}"`);
  return found;
}

/** Reads a command line; throws an `Error` that says what is wrong with it. Returns `undefined` if it asks for help. */
export function parse<T>({ options, check }: Program<T>, args: readonly string[]): T | undefined {
  const all = Object.entries<Option<unknown>>(options);
  const named: Record<string, ParseArgsOptionDescriptor> = { help: { type: "boolean", short: "h", multiple: true } };
  for (const [key, { kind }] of all) {
    if (isNamed(kind)) named[dashed(key)] = { type: kind === "flag" ? "boolean" : "string", multiple: true };
  }
  const words = all.find(([, { kind }]) => !isNamed(kind))?.[1];
  const { tokens } = parseArgs({ args: [...args], options: named, strict: false, tokens: true });
  const command = words?.kind === "command" ? tokens.find(({ kind }) => kind === "positional")?.index : undefined;
  const own = { args: args.slice(0, command), options: named, allowPositionals: words !== undefined };
  const { values, positionals } = parseArgs(own);
  if (values["help"] !== undefined) return undefined;
  const read = Object.fromEntries(all.map(([key, { kind, value, read }]) => {
    if (!isNamed(kind)) return [key, read(command === undefined ? positionals : args.slice(command), value)];
    return [key, read([values[dashed(key)] ?? []].flat().map(String), `--${dashed(key)}`)];
  })) as T;
  check?.(read);
  return read;
}

/**
 * Returns the options that the command line asks a program for. When they ask for help or are wrong, prints the help or
 * what is wrong, and returns the exit status.
 */
export function readOptions<T>(program: Program<T>, args: readonly string[]): T | number {
  try {
    const options = parse(program, args);
    if (options !== undefined) return options;
  } catch (error) {
    console.error(`${reason(error)}\nSee --help.`);
    return MISUSED;
  }
  console.log(usage(program));
  return 0;
}

/** Returns what `--help` prints. */
export function usage<T>({ about, usage, options, notes = "" }: Program<T>): string {
  const rows = Object.entries<Option<unknown>>(options).map(([key, { kind, value, help }]) => {
    return [isNamed(kind) ? `--${dashed(key)} ${value}`.trimEnd() : value, help];
  });
  rows.push(["--help", "this text"]);
  const width = Math.max(...rows.map(([left = ""]) => left.length)) + 4;
  const table = rows.map(([left = "", help = ""]) => `  ${left.padEnd(width - 2)}${folded(help, width)}`);
  const paragraphs = notes.split(/\n\s*\n/).map((paragraph) => folded(paragraph));
  return [folded(about), `Usage: ${usage}`, table.join("\n"), ...paragraphs].join("\n\n").trimEnd();
}

function isNamed(kind: Option<unknown>["kind"]): boolean {
  return kind === "flag" || kind === "value";
}

function dashed(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Folds a text into lines that begin behind so many spaces. */
function folded(text: string, indent = 0): string {
  const lines = text.trim().replace(/\s+/g, " ").matchAll(new RegExp(`(.{1,${COLUMNS - indent}})(?: |$)`, "g"));
  return [...lines].map(([, line]) => line).join(`\n${" ".repeat(indent)}`);
}
