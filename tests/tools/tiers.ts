import { testFiles, textOf } from "../support/test_files.ts";

/** What unit tests may do. They may neither start a process nor use the network, so that they can start no server. */
export const UNIT_PERMISSIONS: readonly string[] = ["--allow-read", "--allow-write", "--allow-env", "--allow-sys"];

/** The simulator starts nothing either, but runs for minutes. */
const SLOW = "tests/simulation/";

/** What unit tests must not do: start a process, or use the network. */
const NEEDS_MORE = /\bDeno\.(Command|connect)\b|"node:child_process"|\bconnect\b[^;]* from "node:net"/;

/** An import or export of code, not of types alone, from a file beside it. */
const IMPORT = /^(?:import|export) (?!type )(?:[^;]*? from )?"(\.[^"]+)"/gm;

/** Returns the test files of the unit tier: those that neither start a process nor use the network, nor import what does. */
export function unitTests(): string[] {
  const files = [...testFiles("tests/"), ...testFiles("bench/")].filter((path) => !path.startsWith(SLOW));
  return files.filter((path) => !needsMore(path, new Set()));
}

function needsMore(path: string, seen: Set<string>): boolean {
  // What the package itself does needs no process.
  if (seen.has(path) || path.startsWith("src/")) return false;
  seen.add(path);
  const text = textOf(path);
  if (NEEDS_MORE.test(text)) return true;
  return [...text.matchAll(IMPORT)].some(([, to]) => needsMore(resolve(path, to!), seen));
}

/** Returns the path of a file that another one imports. */
function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}
