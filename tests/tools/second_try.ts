import type { FailedTest } from "./results.ts";

/** So many failures at once are no accident of a busy machine. */
export const MOST_FLAKY = 2;

/** What fails here has seen a promise broken, and may see it only once in a thousand runs: it is never tried again. */
const NEVER = [
  ...[
    "tests/simulation/",
    "tests/verification/",
    "tools/lua/",
    "tests/engine/",
    "packages/compat/tests/rolling_test.ts",
  ],
  ...["tests/faults/run/", "tests/faults/contention_", "tests/faults/order_test.ts"],
  ...["tests/handoff/two_holders_test.ts", "tests/guard/paused_test.ts"],
];

/** Returns whether these tests may be run once more by themselves. Their machine may have been too busy for them. */
export function mayTryAgain(failed: readonly FailedTest[]): boolean {
  return failed.length > 0 && failed.length <= MOST_FLAKY && failed.every(({ files }) => files.length > 0) &&
    failed.flatMap(({ files }) => files).every((file) =>
      /^(tests|packages|tools)\//.test(file) && !NEVER.some((folder) => file.startsWith(folder))
    );
}

/** Returns the arguments with which `deno test` runs these tests alone. */
export function argumentsFor(failed: readonly FailedTest[]): string[] {
  const names = failed.map(({ name }) => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return [`--filter=/^(${names.join("|")})$/`, ...new Set(failed.flatMap(({ files }) => files))];
}

/** Returns the line that names the tests which passed only the second time. */
export function flakyLine(names: readonly string[]): string {
  return `${names.length} flaky: ${names.join("; ")}`;
}
