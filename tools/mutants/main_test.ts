// Deno only: it tests a tool for Deno.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { importArguments } from "../../tests/tools/offline/arguments.ts";
import { withoutCoverage } from "../../tests/support/without_coverage.ts";
import { Campaign } from "./campaign.ts";
import { mutantsOf } from "./mutate.ts";
import { idle, report } from "./report.ts";
import type { Result } from "./results.ts";
import type { Stage, Target } from "./targets.ts";
import { files, source, Workshop } from "./workshop.ts";

/** Runs the tool. */
async function run(...args: string[]): Promise<{ readonly code: number; readonly text: string }> {
  const main = new URL("main.ts", import.meta.url).pathname;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--quiet", main, ...args],
    clearEnv: true,
    env: withoutCoverage(),
  }).output();
  return { code, text: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

Deno.test("deno task mutants explains itself, and refuses what it does not know", async () => {
  const help = await run("--help");
  assertEquals(help.code, 0);
  assert(help.text.includes("--sample N") && help.text.includes("redlock"), help.text);
  for (const args of [["--samples", "3"], ["--sample", "0"], ["--jobs", "many"], ["src/lock/lease.ts"]]) {
    assertEquals((await run(...args)).code, 2, args.join(" "));
  }
});

Deno.test("deno task mutants --list names the same sample of mutants for the same seed", async () => {
  const list = (...args: string[]) => run("--list", "--files", "src/lock/lease.ts", ...args);
  const [one, again, other] = await Promise.all([
    list("--sample", "5", "--seed", "7"),
    list("--sample", "5", "--seed", "7"),
    list("--sample", "5", "--seed", "8"),
  ]);
  assertEquals(one.text.trim().split("\n").length, 5);
  assertEquals(one, again);
  assert(one.text !== other.text, "another seed draws others");
});

Deno.test("deno task mutants --target names mutants of this target alone", async () => {
  const { text } = await run("--list", "--target", "redis", "--files", "keys/keys,redis/revoke");
  const paths = new Set(text.trim().split("\n").map((line) => line.split(": ")[1]!.split(" ")[0]));
  assertEquals([...paths], ["src/stores/redis/keys/keys.ts", "src/stores/redis/revoke.ts"]);
});

Deno.test("Campaign kills a mutant that a test notices, and restores the copy", async () => {
  const path = "src/time/wait_scope.ts";
  const target: Target = {
    name: "wait_scope",
    source: /./,
    stages: [{ tests: /^tests\/time\/wait_scope_test\.ts$/ }],
  };
  const text = await source(path);
  const outcomes: string[] = [];
  {
    await using workshop = await Workshop.open(await importArguments());
    const campaign = new Campaign([workshop], await files("tests/"), () => {});
    await campaign.prepare([target]);
    const noticed = mutantsOf(path, text).find(({ operator }) => operator === "condition")!;
    const harmless = { ...noticed, replacement: text.slice(noticed.start, noticed.end) };
    for (const mutant of [{ ...noticed, start: 0, end: text.length, replacement: "throw 1;" }, harmless]) {
      outcomes.push(await workshop.changed(path, mutant, () => campaign.attempt(target, workshop)));
    }
    assertEquals(await workshop.read(path), text);
  }
  assertEquals(outcomes, ["killed", "survived"]);
  assertEquals(await source(path), text);
});

Deno.test("deno task mutants fails when there is no mutant", async () => {
  const { code, text } = await run("--files", "no/such/file");
  assertEquals([code, text], [2, "No mutant is in the files and targets that were named\n"]);
});

Deno.test("Campaign refuses tests that are not there, and tests that fail without a mutant", async () => {
  await using workshop = await Workshop.open(await importArguments());
  const all = await files("tests/");
  const prepare = (...stages: Stage[]) =>
    new Campaign([workshop], all, () => {}).prepare([{ name: "planted", source: /./, stages }]);
  const tests = /^tests\/time\/wait_scope_test\.ts$/;
  await assertRejects(() => prepare({ tests: /^no such file$/ }), Error, "there is no test in /^no such file$/");
  await assertRejects(() => prepare({ tests, filter: /^no such test$/ }), Error, "there is no test in");
  const path = "src/time/wait_scope.ts";
  const broken = { operator: "planted", start: 0, end: 1, replacement: "throw 1;" };
  await workshop.changed(path, broken, async () => {
    await assertRejects(() => prepare({ tests }), Error, "no tests of planted pass without a mutant");
  });
});

Deno.test("report() gives a score for each file, and the reason of each survivor", () => {
  const result = (key: string, outcome: Result["outcome"]): Result => {
    return { key: `src/a.ts ${key}`, target: "a", path: "src/a.ts", line: 7, operator: "logical", outcome };
  };
  const results = [
    result("one", "killed"),
    result("two", "survived"),
    result("three", "late"),
    result("four", "survived"),
  ];
  const excuses = [{ mutant: "src/a.ts two", reason: "it is the same" }, { mutant: "src/a.ts one", reason: "idle" }];
  const text = report(results, excuses);
  assert(/src\/a\.ts +4 +1 +1 +2 +50\.0 % +1 +66\.7 %$/m.test(text), text);
  assert(text.includes("src/a.ts:7 logical: two\n      it is the same"), text);
  assert(text.includes("src/a.ts:7 logical: four\n      no reason known"), text);
  assertEquals(idle(results, excuses), [excuses[1]!]);
});
