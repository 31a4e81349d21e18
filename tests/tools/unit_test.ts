// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import { withoutCoverage } from "../support/without_coverage.ts";

Deno.test("deno task test:unit fails with a filter that matches nothing", async () => {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "task",
      "--quiet",
      "test:unit",
      "--no-check",
      "--filter",
      "no test has this name",
      "tests/contract/errors_test.ts",
    ],
    cwd: new URL("../../", import.meta.url),
    clearEnv: true,
    env: withoutCoverage(),
    stdin: "null",
  }).output();
  const last = new TextDecoder().decode(stdout).trimEnd().split("\n").slice(-2);
  assertEquals([code, ...last], [1, "Failed: no test has run", "0 passed, 1 failed"]);
});
