/**
 * The test command: finds or installs what the tests start, runs them, and counts them.
 *
 * @module
 */
import { INTERRUPTED } from "../support/command_line.ts";
import { install } from "../runtimes/install.ts";
import { SOURCES } from "../support/test_files.ts";
import { type Call, count, failures, runTests } from "./calls.ts";
import { importArguments } from "./offline/arguments.ts";
import { entryPoints } from "./packages.ts";
import { IN_CI, requirements } from "./requirements.ts";
import type { Results } from "./results.ts";
import { slowest } from "./slowest.ts";
import { allTests, isModel, isUnit, longestFirst, type Need, needsOf, otherTests, readmeTests } from "./tiers.ts";
import { divided } from "./together.ts";

const HELP = `Run the tests of Holdfast: deno task test [arguments of deno test]

  deno task test                             what users of the README run, on a Redis server
  deno task test:all                         all tests: every store, client and server, in a browser too
  deno task test:all --others                those of them that "deno task test" leaves out
  deno task test tests/lock/lease_test.ts         one file
  deno task test --filter "release()"        by name
  REDIS_SERVER=path deno task test           on another server, such as valkey-server

Whole tiers run without a check of their types, which "deno task checks" does; all tests, and with CI=1 each tier, leave
the coverage in coverage/ for it.
What the tests start is installed as root on Debian or Ubuntu; elsewhere one line says what is missing. With CI=1
nothing may be missing, and no test may be skipped.`;

const COVERAGE = "coverage";

/** How many runs each simulator makes in the tests of the README. */
const FEW_SEEDS = "200";

/** What starts many processes for each test, most of whose time is spent waiting for the ends of leases. */
const CROWDS: readonly string[] = ["tests/faults/"];

/** What is to be run, and what it needs. */
interface Plan {
  readonly calls: readonly Call[];
  readonly needs: ReadonlySet<Need>;
  /** What is left out of all tests. */
  readonly without: readonly Need[];
}

/** Plans the run of a tier, or, by the arguments of `deno test`, of some files. */
function planOf(words: readonly string[], all: boolean, others: boolean): Plan {
  const [readme, rest] = [readmeTests(), otherTests()];
  if (words.length > 0) {
    const files = allTests().filter((path) => words.some((word) => `${path}/`.startsWith(word.replace(/\/?$/, "/"))));
    // Without files and folders, they are chosen by their names: it may be any.
    const needs = files.length > 0 ? needsOf(...files) : readme.needs.union(rest.needs);
    return { calls: [{ args: words, jobs: 4 }], needs, without: [] };
  }
  if (others) return { calls: callsFor(rest.files, true), needs: rest.needs, without: [] };
  const source = [
    "--doc",
    ...SOURCES,
    ...entryPoints().filter((path) => path.endsWith("mod.ts") && !path.includes("src/")),
  ];
  if (!all) return { calls: callsFor(readme.files, IN_CI, source), needs: readme.needs, without: readme.without };
  const files = [...readme.files, ...rest.files];
  return { calls: callsFor(files, true, source), needs: readme.needs.union(rest.needs), without: [] };
}

/**
 * Returns the calls for the files of a tier, side by side: the models, the crowds of processes, and the others, most of
 * whose time is spent waiting for leases and servers. One after the other, they would leave a core idle.
 *
 * @param documented what has examples in its comments
 */
function callsFor(files: readonly string[], covered: boolean, documented: readonly string[] = []): readonly Call[] {
  // By their names: --ignore does not hold with several paths.
  const models = files.filter(isModel);
  const crowds = files.filter((path) => CROWDS.some((folder) => path.startsWith(folder)));
  const others = files.filter((path) => !models.includes(path) && !crowds.includes(path));
  const { shared } = divided(others.filter(isUnit));
  const single = longestFirst(others.filter((path) => !shared.includes(path)));
  // The models and the crowds reach nothing that the others do not reach.
  const measured = ["--no-check", ...covered ? [`--coverage=${COVERAGE}`, "--coverage-raw-data-only"] : []];
  const calls: readonly Call[] = [
    { args: ["--no-check", ...models], jobs: 2, nice: true, files: models },
    { args: ["--no-check", ...longestFirst(crowds)], jobs: 2, files: crowds },
    { args: [...measured, ...documented, ...single], together: shared, jobs: 6, files: others },
  ];
  return calls.filter(({ files = [] }) => files.length > 0);
}

async function main(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(HELP);
    return 0;
  }
  const [all, others] = ["--all", "--others"].map((word) => args.includes(word));
  const words = args.filter((arg) => !["--all", "--others"].includes(arg));
  const { calls, needs, without } = planOf(words, all!, others!);
  const env = await requirements(needs);
  if (needs.has("Node and Bun")) await install();
  const imports = await importArguments();
  // What the other tests cover comes to that of the README's.
  if (words.length === 0 && !others) await Deno.remove(COVERAGE, { recursive: true }).catch(() => {});
  const few = without.length > 0 ? { SEEDS: FEW_SEEDS } : {};
  const commands = calls.map((call) => ({ ...call, args: ["--parallel", ...imports, ...call.args] }));
  const outcome = await runTests(commands, { ...env, ...few });
  if (outcome === "interrupted") return INTERRUPTED;
  const results = IN_CI ? outcome.map(withoutIgnored) : outcome;
  if (IN_CI && words.length === 0) console.log(`\n${slowest(results).join("\n")}\n`);
  for (const reason of results.flatMap(({ reasons }) => reasons)) console.log(`Failed: ${reason}`);
  // Once more at the end, where the last lines of a long log have it.
  for (const { name, files, error } of results.flatMap(({ tests }) => tests)) {
    console.log(`\n${error}\nFailed: ${name} (${files}): ${error.split("\n", 1)[0]!.slice(0, 200)}`);
  }
  if (without.length > 0) console.log(`\nnot run: tests with ${without.join(", ")}: deno task test:all`);
  console.log(count(results));
  return failures(results) === 0 ? 0 : 1;
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
