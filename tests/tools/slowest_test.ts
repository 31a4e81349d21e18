import { assertEquals } from "@std/assert";
import type { Case, Results } from "./results.ts";
import { slowest } from "./slowest.ts";

const test = (file: string, name: string, seconds: number): Case => {
  return { file, name, seconds, outcome: "passed", error: "" };
};

Deno.test("slowest() sorts tests and folders, and leaves steps out", () => {
  const passed = [
    test("tests/a_test.ts", "a", 1),
    test("tests/stores/b_test.ts", "b", 3.26),
    test("tests/stores/b_test.ts", "b > c", 3),
    test("tests/d_test.ts", "d", 2.5),
  ];
  const results: Results = { passed, failed: [], ignored: [], unnamed: 0, reasons: [], tests: [] };
  assertEquals(slowest([results], 2), [
    "The slowest tests:",
    "    3.3 s  b (tests/stores/b_test.ts)",
    "    2.5 s  d (tests/d_test.ts)",
    "By folder, one test after the other:",
    "    3.5 s  tests",
    "    3.3 s  tests/stores",
  ]);
});
