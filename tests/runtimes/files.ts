import { testFiles, TESTS, textOf } from "../support/test_files.ts";

/** How the first line of a test file begins that does not run in the other runtimes. The reason follows. */
export const DENO_ONLY = "// Deno only: ";

/** Returns the paths of the test files that run in every runtime, but for those that it cannot load. */
export function sharedTests(): string[] {
  return TESTS.flatMap(testFiles).filter((path) => !textOf(path).startsWith(DENO_ONLY));
}

/** Returns whether these are tests of the SQLite store: not every runtime has SQLite. */
export function isSqlite(path: string): boolean {
  return path.startsWith("tests/stores/sqlite/") || /[/_]sqlite_test\.ts$/.test(path);
}

/** Returns whether these are the tests of the HTTP server of the command line: not every runtime can listen. */
export function isServer(path: string): boolean {
  return path === "packages/cli/tests/server/http_server_test.ts";
}

/** Returns whether these are the tests of the LockManager that a runtime has itself: not every runtime has one. */
export function isPlatform(path: string): boolean {
  return path === "tests/web_locks/platform_test.ts";
}
