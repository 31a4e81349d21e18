// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import { withoutCoverage } from "../support/without_coverage.ts";

/** Says the limit of each test; loaded before what sets it. */
const SPY = `
  const { test } = Deno;
  const value = Object.assign((one) => (console.log("limit", one.name, one.timeout), test(one)), test);
  Object.defineProperty(Deno, "test", { value });`;

const TESTS = `
  Deno.test("a", () => {});
  Deno.test({ name: "b", timeout: 7_000, fn() {} });
  Deno.test(function c() {});
  Deno.test("d", { permissions: "none" }, () => {});`;

Deno.test("limit.ts gives each test a limit, and keeps the one that a test has", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast_limit_" });
  await Deno.writeTextFile(`${folder}/spy.js`, SPY);
  await Deno.writeTextFile(`${folder}/a_test.js`, TESTS);
  const preloaded = [`${folder}/spy.js`, new URL("limit.ts", import.meta.url).pathname];
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "--no-config", "--no-check", ...preloaded.map((path) => `--preload=${path}`), folder],
    clearEnv: true,
    env: withoutCoverage(),
    stdin: "null",
  }).output();
  await Deno.remove(folder, { recursive: true });
  const text = new TextDecoder().decode(stdout);
  const limits = Array.from(text.matchAll(/limit (\w) (\d+)/g), ([, name, limit]) => `${name} ${limit}`);
  assertEquals([code, limits], [0, ["a 300000", "b 7000", "c 300000", "d 300000"]], text);
});
