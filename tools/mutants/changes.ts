import * as constants from "../../src/stores/redis/constants.ts";
import { build, type Constants, MODULE } from "../../tests/tools/scripts/build.ts";
import type { Mutant } from "./mutant.ts";
import { mutantsOf } from "./mutate.ts";
import { luaMutantsOf } from "./mutate_lua.ts";
import { SCRIPTS } from "./targets.ts";
import { files, source } from "./workshop.ts";

/** The numbers and words that are filled into the scripts. */
const CONSTANTS = "src/stores/redis/constants.ts";

/** Returns the files with such paths. */
export async function texts(paths: RegExp): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const path of await files("src/", "packages/")) if (paths.test(path)) found.set(path, await source(path));
  return found;
}

/** Returns the mutants of a file of the repository. */
export async function mutantsIn(path: string): Promise<Mutant[]> {
  return SCRIPTS.test(path) ? luaMutantsOf(path, await source(path)) : mutantsOf(path, await source(path));
}

/** A changed file, and what is built of it: a script with a fault, or with another number, has another SHA-1. */
export async function changesOf(path: string, text: string): Promise<Map<string, string>> {
  const changes = new Map([[path, text]]);
  if (SCRIPTS.test(path)) changes.set(MODULE, build(new Map([...await texts(SCRIPTS), [path, text]]), constants));
  if (path === CONSTANTS) {
    const changed: Constants = await import(`data:text/typescript,${encodeURIComponent(text)}`);
    changes.set(MODULE, build(await texts(SCRIPTS), changed));
  }
  return changes;
}
