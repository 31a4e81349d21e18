/** How many windows of seeds there are, and how many seeds begin in each. */
const WINDOWS = 100_000;
const WINDOW = 1_000;

/** Returns the first seed of the window that a text stands for: another text stands for another one (FNV-1a). */
export function freshSeed(text: string): number {
  let hash = 0x811c9dc5;
  for (const char of text.replaceAll("\r\n", "\n")) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193);
  return (1 + (hash >>> 0) % WINDOWS) * WINDOW;
}
