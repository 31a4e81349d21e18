/** A test that failed: its file, its name, and how it failed. */
export interface FailedTest {
  readonly file: string;
  readonly name: string;
  readonly error: string;
}

/** So many failures at once are no accident of a busy machine. */
const MOST = 5;

/** What fails here has seen a promise broken, and may see it only once in a thousand runs: it is never tried again. */
const NEVER = ["tests/simulation/", "tests/verification/", "tests/faults/run/", "tests/faults/contention_test.ts"];

/** Reads the failed tests from a report in JUnit's format. */
export function failedTests(report: string): FailedTest[] {
  const cases = report.matchAll(/<testcase name="([^"]*)" classname="([^"]*)"[^>]*[^/]>([^]*?)<\/testcase>/g);
  return [...cases].filter(([, , , body = ""]) => /<(failure|error)\b/.test(body)).map((
    [, name = "", file = "", body],
  ) => ({
    name: plain(name),
    file: plain(file).replace(/^\.\//, ""),
    error: plain(body!.replace(/<[^>]*>/g, "")).trim(),
  }));
}

/** Returns whether these tests may be run once more by themselves. Their machine may have been too busy for them. */
export function mayTryAgain(failed: readonly FailedTest[]): boolean {
  return failed.length > 0 && failed.length <= MOST &&
    failed.every(({ file }) => file.startsWith("tests/") && !NEVER.some((folder) => file.startsWith(folder)));
}

/** Returns the arguments with which `deno test` runs these tests alone. */
export function argumentsFor(failed: readonly FailedTest[]): string[] {
  const names = failed.map(({ name }) => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  return [`--filter=/^(${names.join("|")})$/`, ...new Set(failed.map(({ file }) => file))];
}

/** Undoes what XML does to text. */
function plain(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&apos;", "'")
    .replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}
