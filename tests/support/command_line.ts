import { reason } from "./interruption.ts";

/** The exit status for a wrong command line, as shells have it. */
export const MISUSED = 2;

/** The exit status after an interruption by Ctrl-C, as shells have it. */
export const INTERRUPTED = 130;

/**
 * Returns the options that `parse` reads from the command line. When they ask for help or are wrong, prints the usage
 * or what is wrong, and returns the exit status.
 */
export function readOptions<T extends { readonly help: boolean }>(parse: () => T, usage: () => string): T | number {
  let options: T;
  try {
    options = parse();
  } catch (error) {
    console.error(`${reason(error)}\nSee --help.`);
    return MISUSED;
  }
  if (!options.help) return options;
  console.log(usage());
  return 0;
}

/** Returns the whole number that an option was given; throws an `Error` that names the option and quotes the value. */
export function wholeNumber(option: string, text: string, least: number, most = 2 ** 32 - 1): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isInteger(value) || value < least || value > most) {
    throw new Error(`${option} must be a whole number from ${least} to ${most}: got "${text}"`);
  }
  return value;
}

/** Returns those of the names that are wanted, in the order of all; throws an `Error` if one is unknown. */
export function chosen(what: string, wanted: readonly string[], all: readonly string[]): string[] {
  for (const name of wanted) {
    if (!all.includes(name)) throw new Error(`Unknown ${what} "${name}": there are ${all.join(", ")}`);
  }
  return all.filter((name) => wanted.includes(name));
}

/** Returns the name, one of those that there are; throws an `Error` when it is none of them. */
export function oneOf<T extends string>(what: string, wanted: string, all: readonly T[]): T {
  return chosen(what, [wanted], all)[0] as T;
}
