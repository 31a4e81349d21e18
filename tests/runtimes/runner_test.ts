// Deno only: it starts a process of Deno.
import { assertEquals } from "@std/assert";
import { withoutCoverage } from "../support/without_coverage.ts";

/** Runs code with the runner in a process of its own: it replaces `Deno`. Returns the types and names of its lines. */
async function linesOf(files: string): Promise<string[]> {
  const module = (path: string) => JSON.stringify(import.meta.resolve(`./inside/${path}`));
  const code = `Object.defineProperty(globalThis, "Deno", { writable: true });
    const { results } = await import(${module("runner.ts")});
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

Deno.test("results() fails for a file that defines no test, or does not load", async () => {
  assertEquals(await linesOf(define()), ["failed a_test.ts loads", "end"]);
  assertEquals(await linesOf(define("throw new Error()")), ["failed a_test.ts loads", "end"]);
});

Deno.test("results() runs each test once, also one that fails", async () => {
  const fails = `let runs = 0; Deno.test("a", () => { if (runs++ === 0) throw new Error(); })`;
  assertEquals(await linesOf(define(fails, `Deno.test("b", () => {})`)), ["failed a", "passed b", "end"]);
});
