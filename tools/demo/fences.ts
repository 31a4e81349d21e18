/** Shortens two fences to the digits from the first one in which they differ, so that a reader sees which is larger. */
export function shorten(a: string, b: string): [string, string] {
  if (a.length !== b.length) return [a, b];
  const same = [...a].findIndex((digit, place) => digit !== b[place]);
  return same <= 0 ? [a, b] : [`…${a.slice(same)}`, `…${b.slice(same)}`];
}
