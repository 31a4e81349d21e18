// Deno only: it starts a process of Deno.
import { assertEquals } from "@std/assert";
import { withoutCoverage } from "../support/without_coverage.ts";

/** Runs code with the runner in a process of its own: it replaces `Deno`. Returns the types and names of its lines. */
async function linesOf(files: string, mayRepeat: number): Promise<string[]> {
  const module = (path: string) => JSON.stringify(import.meta.resolve(`./inside/${path}`));
  const code = `Object.defineProperty(globalThis, "Deno", { writable: true });
    const [{ results }, { settings }] = [await import(${module("runner.ts")}), await import(${module("settings.ts")})];
    settings.mayRepeat = ${mayRepeat};
    const failing = (times) => () => { if (times-- > 0) throw new Error("busy"); };
    for await (const { type, name = "" } of results(${files})) console.log(type, name);`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--allow-all", `data:application/javascript,${encodeURIComponent(code)}`],
    clearEnv: true,
    env: withoutCoverage(),
    stdin: "null",
    stderr: "inherit",
  }).output();
  return new TextDecoder().decode(stdout).trimEnd().split("\n").map((line) => line.trimEnd());
}

const define = (...tests: string[]) => `{ "a_test.ts": async () => { ${tests.join("; ")} } }`;
const [once, always] = [1, 2].map((times) => (name: string) => `Deno.test("${name}", failing(${times}))`);

Deno.test("results() fails for a file that defines no test, or does not load", async () => {
  assertEquals(await linesOf(define(), 2), ["failed a_test.ts loads", "end"]);
  assertEquals(await linesOf(define("throw new Error()"), 2), ["failed a_test.ts loads", "end"]);
});

Deno.test("results() repeats as many tests as it may, and none if more have failed", async () => {
  const both = define(once!("a"), always!("b"));
  assertEquals(await linesOf(both, 2), ["repeated a", "failed b", "end"]);
  assertEquals(await linesOf(both, 1), ["failed a", "failed b", "end"]);
  assertEquals(await linesOf(both, 0), ["failed a", "failed b", "end"]);
});
