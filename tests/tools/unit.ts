/**
 * The command for the unit tests: runs the tests that need no server, without the permission to start one.
 *
 * @module
 */
import { INTERRUPTED } from "../support/command_line.ts";
import { count, failures, runTests } from "./calls.ts";
import { importArguments } from "./offline/arguments.ts";
import { UNIT_PERMISSIONS, unitTests } from "./tiers.ts";
import { divided } from "./together.ts";

/** How many test files run at a time: most of their time is spent waiting for leases, not computing. */
const JOBS = 4;

const HELP = `Run the unit tests of Holdfast, which need no server: deno task test:unit [arguments of deno test]

  deno task test:unit                        all unit tests
  deno task test:unit tests/lock/lease_test.ts    one file
  deno task test:unit --filter "release()"   by name

A test file is a unit test if neither it nor what it imports from the tests starts a process or uses the network.
"deno task test" adds the tests on a Redis server, "deno task test:all" runs all tests.`;

async function main(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(HELP);
    return 0;
  }
  const files = args.some((arg) => arg.endsWith("_test.ts")) ? [] : unitTests();
  const { shared, alone } = divided(files);
  const words = ["--parallel", ...await importArguments(), ...args, ...alone];
  const call = { args: words, together: shared, jobs: JOBS, permissions: UNIT_PERMISSIONS };
  const results = await runTests([call], {});
  if (results === "interrupted") return INTERRUPTED;
  for (const reason of results.flatMap(({ reasons }) => reasons)) console.log(`Failed: ${reason}`);
  console.log(count(results));
  return failures(results) === 0 ? 0 : 1;
}

Deno.exitCode = await main(Deno.args);
