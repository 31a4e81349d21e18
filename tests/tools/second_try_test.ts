import { assert, assertEquals } from "@std/assert";
import { argumentsFor, failedTests, mayTryAgain } from "./second_try.ts";

const REPORT = `<testsuites tests="3" failures="1" errors="0">
  <testsuite name="./tests/a_test.ts">
    <testcase name="a() does" classname="./tests/a_test.ts" time="0.1" line="1" col="1"></testcase>
    <testcase name="b() &lt;is&gt; &quot;c&quot; (1+1)" classname="./tests/a_test.ts" time="0.1" line="2" col="1">
      <failure message="Leaks">Leaks detected: a &amp; b</failure>
    </testcase>
    <testcase name="d() is left out" classname="./tests/a_test.ts" time="0.1" line="3" col="1"><skipped/></testcase>
  </testsuite>
</testsuites>`;

Deno.test("failedTests() reads what has failed, and how", () => {
  assertEquals(failedTests(REPORT), [
    { file: "tests/a_test.ts", name: 'b() <is> "c" (1+1)', error: "Leaks detected: a & b" },
  ]);
  assertEquals(failedTests(""), []);
});

Deno.test("mayTryAgain() refuses broken promises, what is no test file, and many", () => {
  const failed = (file: string) => ({ file, name: "a() does", error: "" });
  assert(mayTryAgain([failed("tests/a_test.ts")]));
  assert(!mayTryAgain([]));
  for (
    const file of ["tests/simulation/a_test.ts", "tests/verification/a_test.ts", "tests/faults/run/a_test.ts", "mod.ts"]
  ) {
    assert(!mayTryAgain([failed("tests/a_test.ts"), failed(file)]), file);
  }
  assert(!mayTryAgain(Array.from({ length: 6 }, () => failed("tests/a_test.ts"))));
});

Deno.test("argumentsFor() names the tests, and each of their files once", () => {
  const [failed] = failedTests(REPORT);
  const [filter = "", ...files] = argumentsFor([failed!, failed!]);
  assertEquals(files, ["tests/a_test.ts"]);
  const pattern = new RegExp(filter.replace("--filter=/", "").replace(/\/$/, ""));
  assert(pattern.test('b() <is> "c" (1+1)'));
  assert(!pattern.test('b() <is> "c" (1+1) too'));
});
