import type { Results } from "./results.ts";

/** Returns lines that say which tests took longest, and how long those of each folder took together. */
export function slowest(results: readonly Results[], most = 40): string[] {
  const isStep = (name: string) => name.includes(" > ");
  const cases = results.flatMap(({ passed, failed }) => [...passed, ...failed]).filter(({ name }) => !isStep(name));
  const folders = new Map<string, number>();
  for (const { file, seconds } of cases) {
    const folder = file.split("/").slice(0, -1).slice(0, 3).join("/");
    folders.set(folder, (folders.get(folder) ?? 0) + seconds);
  }
  const rows = cases.map(({ file, name, seconds }) => ({ seconds, what: `${name} (${file})` }));
  const sums = Array.from(folders, ([what, seconds]) => ({ seconds, what }));
  const table = (of: readonly { seconds: number; what: string }[]) =>
    [...of].sort((a, b) => b.seconds - a.seconds).slice(0, most)
      .map(({ seconds, what }) => `${seconds.toFixed(1).padStart(7)} s  ${what}`);
  return ["The slowest tests:", ...table(rows), "By folder, one test after the other:", ...table(sums)];
}
