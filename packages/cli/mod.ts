#!/usr/bin/env node
/**
 * `holdfast`, the command line: shows who holds which lock and who waits, and takes locks away.
 *
 * ```sh
 * deno run --allow-net --allow-env jsr:@holdfast/cli ls --store redis://127.0.0.1:6379
 * npx @holdfast/cli ls --store redis://127.0.0.1:6379
 * ```
 *
 * @example From a program
 * ```ts ignore
 * import { main } from "@holdfast/cli";
 *
 * const status = await main(["ls", "--store", "redis://127.0.0.1:6379"]);
 * ```
 *
 * @module
 */
import { realpathSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { main } from "./src/main.ts";
import { takeWarnings } from "./src/terminal/warnings.ts";

export { main } from "./src/main.ts";
export type { Environment } from "./src/arguments/environment.ts";

/** Whether this file is the program. Node 20 and 22 do not tell. */
function isProgram(): boolean {
  const told: boolean | undefined = import.meta.main;
  if (told !== undefined) return told;
  const [, program = ""] = process.argv;
  try {
    // npm starts a link to this file.
    return realpathSync(program) === fileURLToPath(import.meta.url);
  } catch {
    return false; // A program that was not started from a file.
  }
}

if (isProgram()) {
  takeWarnings();
  // Not when the last timer has ended: a client that was just closed may have one for a moment.
  process.exit(await main(process.argv.slice(2)));
}
