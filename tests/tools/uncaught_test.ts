// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import { stripVTControlCharacters } from "node:util";
import { withoutCoverage } from "../support/without_coverage.ts";

const TESTS = `
  const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
  Deno.test("rejects", async () => {
    Promise.reject(new Error("one"));
    await pause();
  });
  Deno.test("throws", async () => {
    setTimeout(() => { throw new Error("two"); }, 1);
    await pause();
    throw new Error("three");
  });
  Deno.test("throws twice", () => {
    using _ = { [Symbol.dispose]() { throw new Error("five"); } };
    throw new Error("four");
  });
  Deno.test("handles it itself", async () => {
    const own = (event) => event.preventDefault();
    globalThis.addEventListener("unhandledrejection", own);
    Promise.reject(new Error("six"));
    await pause();
    globalThis.removeEventListener("unhandledrejection", own);
  });
  Deno.test("passes", () => {});`;

/** Runs a test file with `limit.ts`, and returns the exit status, the result of each test, and the output. */
async function run(tests: string): Promise<[code: number, results: string[], text: string]> {
  const folder = await Deno.makeTempDir({ prefix: "holdfast_uncaught_" });
  await Deno.writeTextFile(`${folder}/a_test.js`, tests);
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "--no-config", "--no-check", `--preload=${new URL("limit.ts", import.meta.url).pathname}`, folder],
    clearEnv: true,
    env: withoutCoverage(),
    stdin: "null",
  }).output();
  await Deno.remove(folder, { recursive: true });
  const text = stripVTControlCharacters(new TextDecoder().decode(stdout));
  return [
    code,
    Array.from(text.matchAll(/^(\w.*) \.\.\. (ok|FAILED)/gm), ([, name, result]) => `${name}: ${result}`),
    text,
  ];
}

Deno.test("catchingAll() fails the test in which something is not caught, and no other", async () => {
  const [code, results, text] = await run(TESTS);
  const expected = ["rejects: FAILED", "throws: FAILED", "throws twice: FAILED", "handles it itself: ok", "passes: ok"];
  assertEquals([code, results], [1, expected], text);
  const named = ["not caught: Error: one", "not caught: Error: two", "Error: three", "Error: four", "Error: five"];
  assertEquals(named.filter((each) => !text.includes(each)), [], text);
});

Deno.test("limit.ts fails a file whose last test leaves a rejection behind", async () => {
  const [code, results, text] = await run(
    `Deno.test("leaves", () => void setTimeout(() => Promise.reject("seven"), 1));`,
  );
  assertEquals([code, results, text.includes("not caught: seven")], [1, ["leaves: ok"], true], text);
});
