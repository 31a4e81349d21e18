/**
 * Returns a duration as people read it, in the one or two largest units: `850ms`, `12s`, `3m 20s`, `2h 5m`, `4d 3h`.
 *
 * The script of the dashboard contains the text of this function, so that the server and the browser say the same: it
 * uses nothing from outside.
 *
 * @param ms the duration in milliseconds; below 0 counts as 0, because the clocks of several machines differ
 */
export function showDuration(ms: number): string {
  const rest = Math.max(0, Math.round(ms));
  if (rest < 1_000) return `${rest}ms`;
  const [s, m, h] = [1_000, 60_000, 3_600_000].map((unit) => Math.floor(rest / unit)) as [number, number, number];
  const counts = { d: Math.floor(h / 24), h: h % 24, m: m % 60, s: s % 60 };
  const parts = Object.entries(counts).map(([unit, count]) => count === 0 ? "" : `${count}${unit}`);
  const first = parts.findIndex((part) => part !== "");
  return parts.slice(first, first + 2).join(" ").trim();
}
