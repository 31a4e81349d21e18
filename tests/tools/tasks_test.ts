// Deno only: it runs the tasks of deno.json.
import { assert, assertEquals } from "@std/assert";
import { textOf } from "../support/test_files.ts";
import { withoutCoverage } from "../support/without_coverage.ts";

const TASKS: Record<string, unknown> = JSON.parse(textOf("deno.json")).tasks;

/** The shortest real runs, with what each prints. The other tasks take minutes, or draw pictures. */
const RUNS: readonly (readonly [task: string, args: string, prints: RegExp])[] = [
  ["demo", "--sections 1", /./],
  ["test", "tests/contract/errors_test.ts", /\d+ passed, 0 failed/],
  ["test:unit", "tests/contract/errors_test.ts", /\d+ passed, 0 failed/],
  ["sim", "--seeds 3", /^3 seeds from 1: \d+ locks granted, nothing wrong/m],
  ["sim", "--world cas --seeds 3", /^3 seeds from 1: \d+ locks granted, nothing wrong/m],
  ["sim", "--world handoff --seeds 3", /^3 seeds from 1: \d+ locks granted, nothing wrong/m],
  ["mutants", "--list --files src/contract/errors.ts,src/lock/lease.ts --sample 2", /src\/lock\/lease\.ts/],
  ["scripts", "--check", /^$/],
  ["busy", "--loops 2 --nice 19 --stop nice", /^19$/m],
];

/** Runs a task as developers do, with the permissions that deno.json gives it. */
async function run(task: string, args: readonly string[]): Promise<readonly [code: number, text: string]> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", task, ...args],
    cwd: new URL("../../", import.meta.url).pathname,
    clearEnv: true,
    env: { ...withoutCoverage(), NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const text = new TextDecoder();
  return [code, text.decode(stdout) + text.decode(stderr)];
}

for (const task of Object.keys(TASKS)) {
  Deno.test(`deno task ${task} explains itself`, async () => {
    const [code, text] = await run(task, ["--help"]);
    assertEquals(code, 0, text);
    assert(text.length > 40, text);
  });
}

for (const [task, args, prints] of RUNS) {
  Deno.test(`deno task ${task} ${args} runs as it stands`, async () => {
    const [code, text] = await run(task, args.split(" "));
    assertEquals(code, 0, text);
    assert(prints.test(text), text);
  });
}
