import type { LuaFault } from "./lua_faults.ts";
import type { Change } from "./mutant.ts";

/** Finds the place of a fault in files, by path, and gives what is to be changed there. */
export function pinLua(
  { name, place, edit }: LuaFault,
  texts: ReadonlyMap<string, string>,
): { readonly path: string; readonly change: Change } {
  const comment = new RegExp(`^ *-- @place ${place}\\n(.*)$`, "gm");
  const found = [...texts].flatMap(([path, text]) => Array.from(text.matchAll(comment), (match) => ({ path, match })));
  if (found.length !== 1) throw new Error(`"${name}": ${found.length} lines are marked "-- @place ${place}", not one`);
  const { path, match } = found[0]!;
  const line = match[1]!;
  const instead = edit === undefined ? "" : line.replace(edit[0], edit[1]);
  if (instead === line) throw new Error(`"${name}": ${edit?.[0]} is not in the line at ${place}, which is: ${line}`);
  const end = match.index + match[0].length;
  return { path, change: { operator: "pinned", start: end - line.length, end, replacement: instead } };
}

/** Returns the places that are named in a text. */
export function placesIn(text: string): string[] {
  return Array.from(text.matchAll(/^ *-- @place (\S+)$/gm), ([, place]) => place!);
}
