import { assert, assertEquals } from "@std/assert";
import { argumentsFor, flakyLine, mayTryAgain } from "./second_try.ts";

const failed = (...files: string[]) => ({ files, name: "a() does", error: "" });

Deno.test("mayTryAgain() refuses broken promises, unknown or other files, and many", () => {
  assert(mayTryAgain([failed("tests/a_test.ts")]));
  assert(mayTryAgain([failed("tests/a_test.ts"), failed("tests/a_test.ts", "tests/b_test.ts")]));
  assert(!mayTryAgain([]));
  for (
    const file of [
      ...["tests/simulation/a_test.ts", "tests/verification/a_test.ts", "tests/faults/run/a_test.ts", "mod.ts"],
      ...["tests/engine/a_test.ts", "tests/guard/paused_test.ts", "tests/handoff/two_holders_test.ts"],
    ]
  ) {
    assert(!mayTryAgain([failed("tests/a_test.ts"), failed(file)]), file);
    assert(!mayTryAgain([failed("tests/a_test.ts", file)]), file);
  }
  assert(!mayTryAgain([failed("tests/a_test.ts"), failed()]));
  assert(!mayTryAgain(Array.from({ length: 3 }, () => failed("tests/a_test.ts"))));
});

Deno.test("argumentsFor() names the tests, and each of their files once", () => {
  const tests = [failed("tests/a_test.ts"), { ...failed("tests/a_test.ts", "tests/b_test.ts"), name: 'b() "c" (1+1)' }];
  const [filter = "", ...files] = argumentsFor(tests);
  assertEquals(files, ["tests/a_test.ts", "tests/b_test.ts"]);
  const pattern = new RegExp(filter.replace("--filter=/", "").replace(/\/$/, ""));
  assert(pattern.test('b() "c" (1+1)') && pattern.test("a() does"));
  assert(!pattern.test('b() "c" (1+1) too'));
});

Deno.test("flakyLine() counts and names", () => {
  assertEquals(
    flakyLine(["a (tests/a_test.ts)", "b (tests/b_test.ts)"]),
    "2 flaky: a (tests/a_test.ts); b (tests/b_test.ts)",
  );
});
