/**
 * The test command: finds or installs what the tests start, runs them all with coverage, and counts them.
 *
 * @module
 */
import { importArguments } from "./offline/arguments.ts";
import { testFiles } from "../support/test_files.ts";
import { requirements } from "./requirements.ts";
import { argumentsFor, failedTests, mayTryAgain } from "./second_try.ts";

const HELP = `Run the tests of Holdfast on real servers: deno task test [arguments of deno test]

  deno task test                             all tests, with the examples in the docs
  deno task test tests/lease_test.ts         one file
  deno task test --filter "release()"        by name
  REDIS_SERVER=path deno task test           on another server, such as valkey-server

A test that fails beside the others is run once more by itself, if it can fail because the machine is busy. If it passes
then, the run goes on, and says so at its end.

All tests together run without a check of their types, which "deno task checks" does, and leave the coverage in coverage/
for it.
Needs redis-server or valkey-server, and a C compiler; as root on Debian or Ubuntu it installs them.`;

/** A call of `deno test`. */
interface Call {
  readonly args: readonly string[];
  /** How many test files run at a time. */
  readonly jobs: number;
  /** Whether the others come first where the processor is busy. */
  readonly nice?: boolean;
}

const COVERAGE = "coverage";

/** What computes all the time. With coverage it takes half as long again. */
const MODELS: readonly string[] = ["tests/simulation/", "tests/verification/"];

/** What `deno test`, which begins with the deepest folder, would begin at the end: files that take up to a minute. */
const LATE: readonly string[] = ["tests/cli/", "tests/faults/"];

/**
 * Returns the calls for all tests, side by side: the models, and two groups of the others, most of whose time is spent
 * waiting for leases and servers. One after the other, they would leave a core idle.
 */
function everything(): readonly Call[] {
  // By their names: --ignore does not hold with several paths.
  const files = [...testFiles("tests/"), ...testFiles("bench/")];
  const isIn = (folders: readonly string[]) => (path: string) => folders.some((folder) => path.startsWith(folder));
  const models = files.filter(isIn(MODELS));
  const late = files.filter(isIn(LATE));
  const others = files.filter((path) => !models.includes(path) && !late.includes(path));
  const measured = ["--no-check", `--coverage=${COVERAGE}`, "--coverage-raw-data-only"];
  return [
    { args: ["--no-check", ...models], jobs: 2, nice: true },
    { args: [...measured, ...late], jobs: 3 },
    { args: [...measured, "--doc", "mod.ts", "src", ...others], jobs: 3 },
  ];
}

async function main(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(HELP);
    return 0;
  }
  const env = await requirements();
  const imports = await importArguments();
  if (args.length === 0) await Deno.remove(COVERAGE, { recursive: true }).catch(() => {});
  const calls = args.length === 0 ? everything() : [{ args, jobs: 4 }];
  const first = await runTests(calls.map((call) => ({ ...call, args: ["--parallel", ...imports, ...call.args] })), env);
  if (first.interrupted) return 130;
  const failed = first.reports.flatMap(failedTests);
  if (first.code === 0 || first.broken || !mayTryAgain(failed)) {
    console.log(count(first.reports));
    return first.code;
  }
  console.log(`\nFailed beside the others: ${failed.length}. Once more, alone:`);
  const second = await runTests([{ args: [...imports, ...argumentsFor(failed)], jobs: 1 }], env);
  if (second.interrupted) return 130;
  if (second.code !== 0) {
    console.log(count(first.reports));
    return second.code;
  }
  for (const { file, name, error } of failed) console.log(`\nPassed only the second time: ${name} (${file})\n${error}`);
  console.log(`\n${count(first.reports, failed.length)}`);
  return 0;
}

/** What some calls of `deno test` have come to. */
interface Result {
  /** The first status that is not 0. */
  readonly code: number;
  readonly interrupted: boolean;
  /** Whether one of them failed although none of its tests did. */
  readonly broken: boolean;
  /** Their reports in JUnit's format. One that ended before any test has none: `""`. */
  readonly reports: readonly string[];
}

/** Runs some calls of `deno test` at a time, in a folder for temporary files of their own. */
async function runTests(calls: readonly Call[], env: Record<string, string>): Promise<Result> {
  const scratch = await Deno.makeTempDir({ prefix: "holdfast_tests_" });
  const paths = calls.map((_, i) => `${scratch}/report${i}.xml`);
  const tests = calls.map(({ args, jobs, nice = false }, i) =>
    new Deno.Command("nice", {
      args: ["-n", nice ? "3" : "0", Deno.execPath(), "test", "--allow-all", `--junit-path=${paths[i]}`, ...args],
      env: { ...env, TMPDIR: scratch, DENO_JOBS: `${jobs}` },
      stdin: "null",
      // A group of its own, so that the servers which the tests have started end with it.
      detached: true,
    }).spawn()
  );
  const running = new Set(tests);
  let interrupted = false;
  const stop = () => {
    interrupted = true;
    for (const { pid } of running) Deno.kill(-pid, "SIGTERM");
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  const codes = await Promise.all(tests.map(async (test) => {
    const { code } = await test.status;
    running.delete(test);
    return code;
  }));
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, stop);
  const reports = await Promise.all(paths.map((path) => Deno.readTextFile(path).catch(() => "")));
  await Deno.remove(scratch, { recursive: true });
  const broken = codes.some((code, i) => code !== 0 && failedTests(reports[i]!).length === 0);
  return { code: codes.find((code) => code !== 0) ?? 0, interrupted, broken, reports };
}

/**
 * The line that sums reports in JUnit's format up; an empty one counts as one failure.
 *
 * @param repeated how many of those that failed have passed the second time
 */
function count(reports: readonly string[], repeated = 0): string {
  const roots = reports.map((report) => /<testsuites [^>]*>/.exec(report)?.[0] ?? ' failures="1" tests="1"');
  const sum = (attribute: string) =>
    roots.reduce((sum, root) => sum + Number(new RegExp(` ${attribute}="(\\d+)"`).exec(root)?.[1] ?? 0), 0);
  const skipped = reports.reduce((sum, report) => sum + (report.match(/<skipped/g)?.length ?? 0), 0);
  const failed = sum("failures") + sum("errors") - repeated;
  const passed = sum("tests") - failed - skipped;
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

try {
  Deno.exitCode = await main(Deno.args);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exitCode = 1;
}
