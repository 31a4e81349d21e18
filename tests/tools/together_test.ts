// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { runTests } from "./calls.ts";
import { importArguments } from "./offline/arguments.ts";
import { divided } from "./together.ts";

Deno.test("runTests() says of each test in a shared module which file has it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast_together_" });
  const paths = ["a", "b", "c"].map((name) => `${folder}/${name}_test.ts`);
  const bodies = ["", 'throw new Error("no");', undefined];
  for (const [i, path] of paths.entries()) {
    await Deno.writeTextFile(path, bodies[i] === undefined ? "" : `Deno.test("${path}", () => { ${bodies[i]} });`);
  }
  const args = ["--parallel", "--no-check", ...await importArguments()];
  const { log } = console;
  // In the output of this test the one that fails would be taken for its own.
  console.log = () => {};
  const results = await runTests([{ args, together: paths, files: paths, jobs: 2 }], {}).finally(() => {
    console.log = log;
  });
  await Deno.remove(folder, { recursive: true });
  assert(results !== "interrupted");
  const [{ passed, failed, tests, reasons }] = results as [typeof results[number]];
  assertEquals([passed, failed].map((cases) => cases.map(({ file }) => file)), [[paths[0]!], [paths[1]!]]);
  assertEquals(tests.map(({ files }) => files), [[paths[1]!]]);
  assertEquals(reasons, [`no test of ${paths[2]} has run`]);
});

Deno.test("divided() leaves models alone, what waits for others, and files that say so", () => {
  const files = [
    "tests/lock/lock_test.ts",
    "tests/lock/short_lease_test.ts",
    "tests/verification/exclusion_test.ts",
    "tests/stores/postgres/pglite_test.ts",
  ];
  assertEquals(divided(files), { shared: files.slice(0, 1), alone: files.slice(1) });
});
