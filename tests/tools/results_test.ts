import { assertEquals } from "@std/assert";
import { resultsOf } from "./results.ts";

const REPORT = `<testsuites tests="6" failures="3" errors="0">
  <testsuite name="./tests/site.ts">
    <testcase name="a() does" classname="./tests/site.ts" time="0.1" line="1" col="1"></testcase>
    <testcase name="b() &lt;is&gt; &quot;c&quot; (1+1)" classname="./tests/site.ts" time="0.1" line="2" col="1">
      <failure message="Leaks">Leaks detected: a &amp; b</failure>
    </testcase>
    <testcase name="d() is ignored" classname="./tests/site.ts" time="0.0" line="3" col="1"><skipped/></testcase>
    <testcase name="e() is filtered out" classname="./tests/site.ts" line="3" col="1"><skipped/></testcase>
    <testcase name="f()" classname="./tests/site.ts" time="0.1" line="2" col="1">
      <failure message="1 test step failed">1 test step failed.</failure>
    </testcase>
    <testcase name="f() &gt; does" classname="./tests/site.ts" time="0.1" line="2" col="1">
      <failure message="no">no</failure>
    </testcase>
  </testsuite>
</testsuites>`;

const OUTPUT = `./tests/a_test.ts => a() does ... ok (1ms)
\x1b[0m\x1b[38;5;245m./tests/b_test.ts => \x1b[0mb() <is> "c" (1+1) ... \x1b[31mFAILED\x1b[0m (1ms)
./tests/b_test.ts => d() is ignored ... ignored (0ms)
./tests/c_test.ts => f() ... does ... FAILED (1ms)
./tests/c_test.ts => f() ... FAILED (due to 1 failed step) (1ms)

FAILED | 1 passed | 2 failed (1 step) | 1 ignored (2s)
`;

const ENDED = { code: 1, report: REPORT, output: OUTPUT };

Deno.test("resultsOf() reads what has failed, how, and the test file that ran it", () => {
  const { passed, failed, ignored, unnamed, tests } = resultsOf(ENDED);
  assertEquals([passed, failed, ignored].map((cases) => cases.map(({ name }) => name)), [
    ["a() does"],
    ['b() <is> "c" (1+1)', "f()", "f() > does"],
    ["d() is ignored"],
  ]);
  assertEquals(unnamed, 0);
  assertEquals(tests, [
    { name: 'b() <is> "c" (1+1)', files: ["tests/b_test.ts"], error: "Leaks detected: a & b" },
    { name: "f()", files: ["tests/c_test.ts"], error: "1 test step failed." },
  ]);
});

Deno.test("resultsOf() counts failures that the report does not name", () => {
  const unnamed = (changes: object, files?: string[]) => resultsOf({ ...ENDED, ...changes }, files).unnamed;
  assertEquals(unnamed({ output: OUTPUT.replace("2 failed", "4 failed") }), 2, "more were counted");
  assertEquals(unnamed({ output: "" }), 1, "it ended before it counted");
  assertEquals(unnamed({ code: 0, report: "", output: "" }), 1, "nothing ran");
  assertEquals(unnamed({ code: 0, report: "", output: "ok | 0 passed | 0 failed (1ms)" }), 1, "nothing was there");
  const note = "note ./tests/b_test.ts called `Deno.exit(0)` from outside any test.";
  assertEquals(unnamed({ output: `${note}\n${OUTPUT}` }), 1, "a file ended itself");
  assertEquals(unnamed({}, ["tests/a_test.ts", "tests/b_test.ts"]), 0);
  assertEquals(unnamed({}, ["tests/a_test.ts", "tests/d_test.ts", "tests/e_test.ts"]), 2, "two files ran no test");
});

Deno.test("resultsOf() reads the same where one file runs at a time", () => {
  const serial = `running 1 test from ./tests/a_test.ts
a() does ... ok (1ms)
running 2 tests from ./tests/b_test.ts
\x1b[0mb() <is> "c" (1+1) ... \x1b[31mFAILED\x1b[0m (1ms)
d() is ignored ... ignored (0ms)
running 1 test from ./tests/c_test.ts
f() ...
  does ... FAILED (1ms)
f() ... FAILED (due to 1 failed step) (1ms)
running 0 tests from ./tests/d_test.ts

FAILED | 1 passed | 2 failed (1 step) | 1 ignored (2s)
`;
  const files = ["tests/a_test.ts", "tests/b_test.ts", "tests/c_test.ts"];
  assertEquals(resultsOf({ ...ENDED, output: serial }, files), resultsOf(ENDED, files));
  assertEquals(resultsOf({ ...ENDED, output: serial }, ["tests/d_test.ts"]).unnamed, 1, "a file ran no test");
});

Deno.test("resultsOf() reads the result of a test that takes longer than a minute", () => {
  const report = `<testcase name="a() does" classname="./tests/tools/limit.ts" time="71"></testcase>`;
  const output = (result: string) =>
    `running 1 test from ./tests/a_test.ts
a() does ...'a() does' has been running for over (1m0s)
something is printed
${result}

ok | 1 passed | 0 failed (1m11s)
`;
  const { passed, unnamed } = resultsOf({ code: 0, report, output: output(" ok (1m11s)") }, ["tests/a_test.ts"]);
  assertEquals([passed.map(({ file }) => file), unnamed], [["tests/a_test.ts"], 0]);
  assertEquals(resultsOf({ code: 0, report, output: output("") }, ["tests/a_test.ts"]).unnamed, 1, "it has not ended");
});

Deno.test("resultsOf() takes a status for a failure though no test failed", () => {
  const report = `<testcase name="a() does" classname="./tests/a_test.ts" time="0.1"></testcase>`;
  const output = "ok | 1 passed | 0 failed (1ms)";
  assertEquals([0, 1].map((code) => resultsOf({ code, report, output }).unnamed), [0, 1]);
});
