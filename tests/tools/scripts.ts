/**
 * Builds the Lua scripts of the Redis store into the module that is committed.
 *
 * @module
 */
import { pathToFileURL } from "node:url";
import * as constants from "../../src/stores/redis/constants.ts";
import { build, FOLDER, MODULE } from "./scripts/build.ts";
import { luaFiles } from "./scripts/lua_files.ts";

const HELP = `Build the Lua scripts of the Redis store: deno task scripts [--check]

${FOLDER}/*.lua are the scripts, each readable alone. The line "-- include NAME …" stands for
lib/NAME.lua, KEYS.name and ARGV.name for what the header of the script names, $NAME for a constant of
src/stores/redis/constants.ts. What is built is ${MODULE}.

  --check  write nothing, and fail when the module is stale
  --help   show this`;

async function main(args: string[]): Promise<number> {
  const unknown = args.find((argument) => !["--check", "--help", "-h"].includes(argument));
  if (unknown !== undefined || args.includes("--help") || args.includes("-h")) {
    console.log(HELP);
    return unknown === undefined ? 0 : 2;
  }
  try {
    const built = build(await luaFiles(pathToFileURL(`${Deno.cwd()}/`)), constants);
    if (built === await Deno.readTextFile(MODULE).catch(() => "")) return 0;
    if (!args.includes("--check")) {
      await Deno.writeTextFile(MODULE, built);
      console.log(`Written: ${MODULE}`);
      return 0;
    }
    console.error(`${MODULE} is stale: run "deno task scripts"`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
  }
  return 1;
}

Deno.exitCode = await main(Deno.args);
