import { reason } from "@holdfast/lock/authors";
import process from "node:process";
import { UsageError } from "../command.ts";
import { oneLine } from "../terminal/shown.ts";

/** A package of npm with which the command line reaches a server. */
export interface ClientLibrary {
  /** The server that it is for, such as `Redis`. */
  readonly of: string;
  /** The name of the package. */
  readonly name: string;
  /** The versions that Deno fetches, such as `^6`; other runtimes use the installed version. */
  readonly version: string;
}

/**
 * Loads a client library, because this package depends on none. Resolves to the module, whose type the caller knows.
 *
 * @throws {UsageError} which says how to install it
 */
export async function loadClientLibrary<Module>(
  { of, name, version }: ClientLibrary,
  { deno, bun }: Readonly<Record<string, string | undefined>> = process.versions,
): Promise<Module> {
  const isDeno = deno !== undefined;
  // Computed: Deno would else load it with this module, and bundlers would look for it.
  const specifier = isDeno ? `npm:${name}@${version}` : name;
  try {
    return await import(specifier);
  } catch (error) {
    const install = bun === undefined ? "npm install" : "bun add";
    const how = isDeno ? `Deno could not load ${specifier}` : `install it beside this package: ${install} ${name}`;
    throw new UsageError(`${of} needs the package ${name}: ${how} (${oneLine(reason(error))})`);
  }
}
