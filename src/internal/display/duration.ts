/** The units of a duration, in milliseconds. */
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns a duration as people read it, in the one or two largest units, such as `850ms`, `12s`, `3m 20s`, `2h 5m`. */
export function showDuration(ms: number): string {
  // Clocks of several machines differ: what is a little in the future happens now.
  const rest = Math.max(0, Math.round(ms));
  if (rest < 1_000) return `${rest}ms`;
  if (rest < 60_000) return `${Math.floor(rest / 1_000)}s`;
  const [large, small] = rest < UNITS["h"]! ? ["m", "s"] : rest < UNITS["d"]! ? ["h", "m"] : ["d", "h"];
  const larger = Math.floor(rest / UNITS[large!]!);
  const smaller = Math.floor(rest % UNITS[large!]! / UNITS[small!]!);
  return smaller === 0 ? `${larger}${large}` : `${larger}${large} ${smaller}${small}`;
}
