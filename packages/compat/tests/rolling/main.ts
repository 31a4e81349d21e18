/**
 * A rolling release of ten minutes, or of as many seconds as the second argument says, with processes of a library
 * that the first one names.
 *
 * @module
 */
import type { Library } from "./places.ts";
import { roll } from "./run.ts";

const [library = "redlock", seconds = "600"] = Deno.args;
console.log(await roll({ library: library as Library, each: 4, ms: Number(seconds) * 1_000 }));
