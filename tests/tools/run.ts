/**
 * The test command: finds or installs what the tests start, runs them all with coverage, and counts them.
 *
 * @module
 */
import { INTERRUPTED } from "../support/command_line.ts";
import { testFiles } from "../support/test_files.ts";
import { install } from "../runtimes/install.ts";
import { type Call, count, failures, runTests } from "./calls.ts";
import { importArguments } from "./offline/arguments.ts";
import { IN_CI, requirements } from "./requirements.ts";
import { passedAgain, type Results } from "./results.ts";
import { argumentsFor, flakyLine, mayTryAgain, MOST_FLAKY } from "./second_try.ts";

const HELP = `Run the tests of Holdfast on real servers: deno task test [--once] [arguments of deno test]

  deno task test                             all tests, with the examples in the docs
  deno task test tests/lease_test.ts         one file
  deno task test --filter "release()"        by name
  deno task test --once                      without a second try
  REDIS_SERVER=path deno task test           on another server, such as valkey-server

If up to ${MOST_FLAKY} tests fail beside the others, and can fail because the machine is busy, they are run once more by
themselves. If they pass then, the run goes on, and the last line but one names them as flaky.

All tests together run without a check of their types, which "deno task checks" does, and leave the coverage in coverage/
for it.
Needs redis-server or valkey-server, and a C compiler; as root on Debian or Ubuntu it installs them. With CI=1 nothing
may be missing, and no test may be skipped.`;

const COVERAGE = "coverage";

/** What computes all the time. With coverage it takes half as long again. */
const MODELS: readonly string[] = ["tests/simulation/", "tests/verification/"];

/** What starts many processes for each test. Two of these files at a time would take each other for faults of the machine. */
const CROWDS: readonly string[] = ["tests/faults/"];

/**
 * Returns the calls for all tests, side by side: the models, the crowds of processes, and the others, most of whose time is
 * spent waiting for leases and servers. One after the other, they would leave a core idle.
 */
function everything(): readonly Call[] {
  // By their names: --ignore does not hold with several paths.
  const files = [...testFiles("tests/"), ...testFiles("bench/")];
  const isIn = (folders: readonly string[]) => (path: string) => folders.some((folder) => path.startsWith(folder));
  const models = files.filter(isIn(MODELS));
  const crowds = files.filter(isIn(CROWDS));
  const others = files.filter((path) => !models.includes(path) && !crowds.includes(path));
  const measured = ["--no-check", `--coverage=${COVERAGE}`, "--coverage-raw-data-only"];
  return [
    { args: ["--no-check", ...models], jobs: 2, nice: true, files: models },
    { args: [...measured, ...crowds], jobs: 1, files: crowds },
    { args: [...measured, "--doc", "mod.ts", "src", ...others], jobs: 3, files: others },
  ];
}

async function main(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(HELP);
    return 0;
  }
  const once = args.includes("--once");
  const words = args.filter((arg) => arg !== "--once");
  const env = await requirements();
  // One of the tests on Prometheus runs in Node.
  if (IN_CI) await install();
  const imports = await importArguments();
  if (words.length === 0) await Deno.remove(COVERAGE, { recursive: true }).catch(() => {});
  const calls: readonly Call[] = words.length === 0 ? everything() : [{ args: words, jobs: 4 }];
  const first = await runTests(calls.map((call) => ({ ...call, args: ["--parallel", ...imports, ...call.args] })), env);
  if (first === "interrupted") return INTERRUPTED;
  const results = IN_CI ? first.map(withoutIgnored) : first;
  if (failures(results) === 0) {
    console.log(count(results));
    return 0;
  }
  for (const reason of results.flatMap(({ reasons }) => reasons)) console.log(`Failed: ${reason}`);
  const tests = results.flatMap(({ tests }) => tests);
  if (!once && results.every(({ unnamed }) => unnamed === 0) && mayTryAgain(tests)) {
    console.log(`\nFailed beside the others: ${tests.length}. Once more, alone:`);
    const second = await runTests([{ args: [...imports, ...argumentsFor(tests)], jobs: 1 }], env);
    if (second === "interrupted") return INTERRUPTED;
    const failed = results.flatMap(({ failed }) => failed);
    if (passedAgain(failed, second[0]!)) {
      for (const { name, error } of tests) console.log(`\nPassed only the second time: ${name}\n${error}`);
      console.log(`\n${flakyLine(tests.map(({ name, files }) => `${name} (${files})`))}`);
      console.log(count(results, failed.length));
      return 0;
    }
  }
  // Once more at the end, where the last lines of a long log have it.
  for (const { name, files, error } of tests) console.log(`\n${error}\nFailed: ${name} (${files})`);
  console.log(count(results));
  return 1;
}

/** Takes the tests that were ignored as failures. */
function withoutIgnored(results: Results): Results {
  const { ignored, unnamed, reasons } = results;
  const skipped = ignored.map(({ name, file }) => `skipped, which is not allowed with CI=1: ${name} (${file})`);
  return { ...results, ignored: [], unnamed: unnamed + ignored.length, reasons: [...reasons, ...skipped] };
}

try {
  Deno.exitCode = await main(Deno.args);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exitCode = 1;
}
