/** The folder of the sources. */
const SOURCES = new URL("../../../src/", import.meta.url);

/** An import or export of values from a file of the sources. What is imported as types alone is no cycle of files. */
const FROM = /(?<=^(?:import|export) (?!type\b)[^;"]*\bfrom )"(\.[^"]+)"/gm;

/**
 * Makes changed copies of files in `src`, and returns what imports them, by their paths in there. A copy imports the
 * copies, and of all other files the shipped code, so that errors are of the same classes.
 *
 * @param isChanged returns whether there is a copy of a file, by its path in `src`
 * @param change returns what a file becomes, given its path and its text
 */
export function changedSources(
  isChanged: (path: string) => boolean,
  change: (path: string, text: string) => string,
): <M>(path: string) => Promise<M> {
  const known = new Map<string, string>();
  const addressOf = (path: string): string => {
    const before = known.get(path);
    if (before !== undefined) return before;
    const base = new URL(path, SOURCES);
    const text = change(path, Deno.readTextFileSync(base)).replaceAll(FROM, (_, from: string) => {
      const { href } = new URL(from, base);
      const inSources = href.slice(SOURCES.href.length);
      return JSON.stringify(isChanged(inSources) ? addressOf(inSources) : href);
    }).replaceAll(/(?<=\bfrom )"(\.[^"]+)"/g, (_, from: string) => JSON.stringify(new URL(from, base).href));
    const address = URL.createObjectURL(new Blob([text], { type: "text/typescript" }));
    known.set(path, address);
    return address;
  };
  return (path) => import(addressOf(path));
}
