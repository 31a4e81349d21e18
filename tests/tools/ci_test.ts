// Deno only: it runs a script of the shell.
import { assertEquals } from "@std/assert";
import { withoutCoverage } from "../support/without_coverage.ts";

const SCRIPT = new URL("../../.ci/run", import.meta.url).pathname;

/** What stands in for `npx` prints and returns for each task. */
type Tasks = Readonly<
  Record<"test" | "test:all" | "test:runtimes" | "checks", { readonly prints?: string; readonly code?: number }>
>;

const GOOD: Tasks = {
  test: { prints: "some\n5 passed, 0 failed" },
  "test:all": { prints: "100 passed, 0 failed" },
  "test:runtimes": { prints: "7 passed, 0 failed, 2 skipped" },
  checks: { prints: "ok" },
};

/** Runs the script with something in the place of `npx`; returns its status and the last lines. */
async function run(tasks: Partial<Tasks>): Promise<readonly [code: number, ...last: string[]]> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast_ci_" });
  const cases = Object.entries({ ...GOOD, ...tasks }).map(([task, { prints = "", code = 0 }]) =>
    `${task}) printf '%s\\n' '${prints}'; exit ${code};;`
  );
  const npx = `#!/bin/sh\n[ "$CI" = 1 ] || exit 3\ncase "$4" in\n${cases.join("\n")}\nesac\n`;
  await Deno.writeTextFile(`${folder}/npx`, npx, { mode: 0o755 });
  const { code, stdout } = await new Deno.Command(SCRIPT, {
    clearEnv: true,
    env: { ...withoutCoverage(), PATH: `${folder}:${Deno.env.get("PATH")}`, TMPDIR: folder },
    stdin: "null",
  }).output();
  await Deno.remove(folder, { recursive: true });
  const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
  return [code, ...lines.slice(-2).filter((line) => /Failed|passed/.test(line))];
}

Deno.test(".ci/run adds the counts of its parts up", async () => {
  assertEquals(await run({}), [0, "112 passed, 0 failed, 2 skipped"]);
});

Deno.test(".ci/run names at the end what failed", async () => {
  const prints = "Failed: a (tests/a_test.ts)\nsome\n4 passed, 1 failed";
  assertEquals(await run({ test: { prints, code: 1 } }), [
    1,
    "Failed: a (tests/a_test.ts)",
    "111 passed, 1 failed, 2 skipped",
  ]);
});

Deno.test(".ci/run fails when a part fails, ends without a count, or badly in spite of it", async () => {
  assertEquals(await run({ test: { prints: "4 passed, 1 failed", code: 1 } }), [1, "111 passed, 1 failed, 2 skipped"]);
  assertEquals(await run({ test: { prints: "nothing" } }), [1, "107 passed, 1 failed, 2 skipped"]);
  assertEquals(await run({ test: { prints: "nothing", code: 1 } }), [1, "107 passed, 1 failed, 2 skipped"]);
  assertEquals(await run({ test: { ...GOOD.test, code: 1 } }), [1, "112 passed, 1 failed, 2 skipped"]);
  const both = { test: { prints: "4 passed, 1 failed", code: 1 }, "test:runtimes": { prints: "nothing", code: 1 } };
  assertEquals(await run(both), [1, "104 passed, 2 failed"]);
  assertEquals(await run({ checks: { prints: "FAILED lint", code: 1 } }), [1, "112 passed, 1 failed, 2 skipped"]);
});
