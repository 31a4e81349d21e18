/**
 * Builds the modules that are committed: of the Lua scripts of the Redis store, and of what browsers load.
 *
 * @module
 */
import { pathToFileURL } from "node:url";
import * as constants from "../../src/stores/redis/constants.ts";
import { ASSETS, ASSETS_MODULE, buildAssets } from "./scripts/assets.ts";
import { build, FOLDER, MODULE } from "./scripts/build.ts";
import { assetFiles, luaFiles } from "./scripts/text_files.ts";

const HELP = `Build the Lua scripts of the Redis store, and what browsers load: deno task scripts [--check]

${FOLDER}/*.lua are the scripts, each readable alone. The line "-- include NAME …" stands for
lib/NAME.lua, KEYS.name and ARGV.name for what the header of the script names, $NAME for a constant of
src/stores/redis/constants.ts. What is built is ${MODULE}.

${ASSETS}/ has the script, the style and the icon of the dashboard. What is built is
${ASSETS_MODULE}.

  --check  write nothing, and fail when a module is stale
  --help   show this`;

async function main(args: string[]): Promise<number> {
  const unknown = args.find((argument) => !["--check", "--help", "-h"].includes(argument));
  if (unknown !== undefined || args.includes("--help") || args.includes("-h")) {
    console.log(HELP);
    return unknown === undefined ? 0 : 2;
  }
  try {
    const root = pathToFileURL(`${Deno.cwd()}/`);
    const modules = {
      [MODULE]: build(await luaFiles(root), constants),
      [ASSETS_MODULE]: buildAssets(await assetFiles(root)),
    };
    let stale = 0;
    for (const [path, built] of Object.entries(modules)) {
      if (built === await Deno.readTextFile(path).catch(() => "")) continue;
      if (args.includes("--check")) {
        console.error(`${path} is stale: run "deno task scripts"`);
        stale++;
      } else {
        await Deno.writeTextFile(path, built);
        console.log(`Written: ${path}`);
      }
    }
    return stale === 0 ? 0 : 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

Deno.exitCode = await main(Deno.args);
