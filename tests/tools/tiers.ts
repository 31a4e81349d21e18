import { testFiles, textOf } from "../support/test_files.ts";

/** What unit tests may do. They may neither start a process nor use the network, so that they can start no server. */
export const UNIT_PERMISSIONS: readonly string[] = ["--allow-read", "--allow-write", "--allow-env", "--allow-sys"];

/** The simulator starts nothing either, but runs for minutes. */
const SLOW = "tests/simulation/";

const STARTS_PROCESSES = /\bDeno\.Command\b|"node:child_process"/;

/** An import or export of code, not of types alone, from a file beside it. */
const IMPORT = /^(?:import|export) (?!type )(?:[^;]*? from )?"(\.[^"]+)"/gm;

/** Returns the test files of the unit tier: those that start no process, and import nothing of the tests that does. */
export function unitTests(): string[] {
  const files = [...testFiles("tests/"), ...testFiles("bench/")].filter((path) => !path.startsWith(SLOW));
  return files.filter((path) => !startsProcesses(path, new Set()));
}

function startsProcesses(path: string, seen: Set<string>): boolean {
  // What the package itself does needs no process.
  if (seen.has(path) || path.startsWith("src/")) return false;
  seen.add(path);
  const text = textOf(path);
  if (STARTS_PROCESSES.test(text)) return true;
  return [...text.matchAll(IMPORT)].some(([, to]) => startsProcesses(resolve(path, to!), seen));
}

/** Returns the path of a file that another one imports. */
function resolve(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}
