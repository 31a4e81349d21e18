/**
 * The test command: finds or installs what the tests start, runs them all with coverage, and counts them.
 *
 * @module
 */
import { importArguments } from "./offline/arguments.ts";
import { requirements } from "./requirements.ts";
import { argumentsFor, failedTests, mayTryAgain } from "./second_try.ts";

const HELP = `Run the tests of Holdfast on real servers: deno task test [arguments of deno test]

  deno task test                             all tests, with the examples in the docs
  deno task test tests/lease_test.ts         one file
  deno task test --filter "release()"        by name
  REDIS_SERVER=path deno task test           on another server, such as valkey-server

A test that fails beside the others is run once more by itself, if it can fail because the machine is busy. If it passes
then, the run goes on, and says so at its end.

Needs redis-server or valkey-server, and a C compiler; as root on Debian or Ubuntu it installs them.
Leaves the coverage in coverage/, for "deno task checks".`;

const COVERAGE = "coverage";

/** How many test files run at a time: most of their time is spent waiting for leases and servers, not computing. */
const JOBS = "4";
const REPORT = `${COVERAGE}/junit.xml`;

async function main(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(HELP);
    return 0;
  }
  const env = { ...await requirements(), DENO_JOBS: JOBS };
  const imports = await importArguments();
  const everything = args.length === 0 ? ["--doc", "mod.ts", "src", "tests", "bench"] : args;
  await Deno.remove(COVERAGE, { recursive: true }).catch(() => {});
  await Deno.mkdir(COVERAGE);
  const { code, interrupted } = await runTests(
    [
      "--parallel",
      ...imports,
      `--junit-path=${REPORT}`,
      `--coverage=${COVERAGE}`,
      "--coverage-raw-data-only",
      ...everything,
    ],
    env,
  );
  if (interrupted) return 130;
  const report = await Deno.readTextFile(REPORT).catch(() => "");
  const failed = failedTests(report);
  if (code === 0 || !mayTryAgain(failed)) {
    console.log(count(report));
    return code;
  }
  console.log(`\nFailed beside the others: ${failed.length}. Once more, alone:`);
  const second = await runTests([...imports, ...argumentsFor(failed)], env);
  if (second.interrupted) return 130;
  if (second.code !== 0) {
    console.log(count(report));
    return second.code;
  }
  for (const { file, name, error } of failed) console.log(`\nPassed only the second time: ${name} (${file})\n${error}`);
  console.log(`\n${count(report, failed.length)}`);
  return 0;
}

/** Runs `deno test` in a folder for temporary files of its own. */
async function runTests(
  args: readonly string[],
  env: Record<string, string>,
): Promise<{ code: number; interrupted: boolean }> {
  const scratch = await Deno.makeTempDir({ prefix: "holdfast_tests_" });
  // A group of its own, so that the servers which the tests have started end with it.
  const tests = new Deno.Command(Deno.execPath(), {
    args: ["test", "--allow-all", ...args],
    env: { ...env, TMPDIR: scratch },
    stdin: "null",
    detached: true,
  }).spawn();
  let interrupted = false;
  const stop = () => {
    interrupted = true;
    Deno.kill(-tests.pid, "SIGTERM");
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, stop);
  const { code } = await tests.status;
  for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.removeSignalListener(signal, stop);
  await Deno.remove(scratch, { recursive: true });
  return { code, interrupted };
}

/**
 * The line that sums the report up; a run that ended before any test has failed once.
 *
 * @param report the report in JUnit's format
 * @param repeated how many of those that failed have passed the second time
 */
function count(report: string, repeated = 0): string {
  const root = /<testsuites [^>]*>/.exec(report)?.[0];
  if (root === undefined) return "0 passed, 1 failed";
  const number = (attribute: string) => Number(new RegExp(` ${attribute}="(\\d+)"`).exec(root)?.[1] ?? 0);
  const skipped = report.match(/<skipped/g)?.length ?? 0;
  const failed = number("failures") + number("errors") - repeated;
  const passed = number("tests") - failed - skipped;
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

try {
  Deno.exitCode = await main(Deno.args);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exitCode = 1;
}
