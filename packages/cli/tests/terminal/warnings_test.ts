// Deno only: it starts processes of Deno.
import { assertEquals } from "@std/assert";
import { withoutCoverage } from "../../../../tests/support/without_coverage.ts";

const MODULE = JSON.stringify(import.meta.resolve("../../src/terminal/warnings.ts"));

/** A program that takes its warnings like the command line, and has three. */
const PROGRAM = `
  import process from "node:process";
  import { takeWarnings } from ${MODULE};
  takeWarnings();
  process.emitWarning("SQLite is an experimental feature", "ExperimentalWarning");
  process.emitWarning("first\\nsecond", "HoldfastWarning");
  process.emitWarning("a plain one");
`;

Deno.test("takeWarnings() names the program, and leaves out experimental modules", async () => {
  const { stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", "--ext=ts", PROGRAM],
    clearEnv: true,
    env: withoutCoverage(),
  }).output();
  assertEquals(new TextDecoder().decode(stderr).trimEnd().split("\n"), [
    "holdfast: HoldfastWarning: first; second",
    "holdfast: Warning: a plain one",
  ]);
});
