/**
 * The test command: finds or installs what the tests start, runs them all with coverage, and counts them.
 *
 * @module
 */
import { importArguments } from "./offline/arguments.ts";
import { requirements } from "./requirements.ts";

const HELP = `Run the tests of Holdfast on real servers: deno task test [arguments of deno test]

  deno task test                             all tests, with the examples in the docs
  deno task test tests/lease_test.ts         one file
  deno task test --filter "release()"        by name
  REDIS_SERVER=path deno task test           on another server, such as valkey-server

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
  const env = await requirements();
  const imports = await importArguments();
  const everything = args.length === 0 ? ["--doc", "mod.ts", "src", "tests", "bench"] : args;
  await Deno.remove(COVERAGE, { recursive: true }).catch(() => {});
  await Deno.mkdir(COVERAGE);
  const scratch = await Deno.makeTempDir({ prefix: "holdfast_tests_" });
  // A group of its own, so that the servers which the tests have started end with it.
  const tests = new Deno.Command(Deno.execPath(), {
    args: [
      ...["test", "--parallel", "--allow-all", ...imports, `--junit-path=${REPORT}`],
      ...[`--coverage=${COVERAGE}`, "--coverage-raw-data-only", ...everything],
    ],
    env: { ...env, TMPDIR: scratch, DENO_JOBS: JOBS },
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
  if (interrupted) return 130;
  console.log(await count());
  return code;
}

/** The line that sums the report up; a run that ended before any test has failed once. */
async function count(): Promise<string> {
  const report = await Deno.readTextFile(REPORT).catch(() => "");
  const root = /<testsuites [^>]*>/.exec(report)?.[0];
  if (root === undefined) return "0 passed, 1 failed";
  const number = (attribute: string) => Number(new RegExp(` ${attribute}="(\\d+)"`).exec(root)?.[1] ?? 0);
  const skipped = report.match(/<skipped/g)?.length ?? 0;
  const failed = number("failures") + number("errors");
  const passed = number("tests") - failed - skipped;
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

try {
  Deno.exitCode = await main(Deno.args);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exitCode = 1;
}
