// Deno only: it tests the command that runs tests in the other runtimes.
import { assert, assertEquals } from "@std/assert";
import { testFiles, TESTS, textOf } from "../support/test_files.ts";
import { DENO_ONLY, isPlatform, isServer, isSqlite, sharedTests } from "./files.ts";

Deno.test("every test file runs in all runtimes, or it is said why not", () => {
  const shared = new Set(sharedTests());
  for (const path of TESTS.flatMap(testFiles).filter((path) => !shared.has(path))) {
    const reason = textOf(path).split("\n")[0]!.slice(DENO_ONLY.length);
    assert(/^it [a-z].{10,}\.$/.test(reason), `${path} gives as its reason "${reason}"`);
  }
});

Deno.test("a marker that is not in the first line of a test file is no marker", () => {
  const misplaced = (path: string) => /\n\s*\/\/ Deno only\b|^\/\/ Deno only(?!: )/.test(textOf(path));
  assertEquals(TESTS.flatMap(testFiles).filter(misplaced), []);
});

Deno.test("sharedTests() has tests of the core, of every store and of the LockManager", () => {
  const files = sharedTests();
  for (
    const path of [
      "tests/lock/lease_test.ts",
      "tests/stores/redis/keys/keys_test.ts",
      "tests/stores/memory/store_test.ts",
    ]
  ) {
    assert(files.includes(path), path);
  }
  assert(files.some(isSqlite) && files.some(isPlatform) && files.some(isServer), "these are recognised");
  assert(!files.includes("tests/layers_test.ts"), "it has a marker");
});
