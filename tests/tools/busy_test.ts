// Deno only: it reads a command line of the tools.
import { assertEquals, assertThrows } from "@std/assert";
import { parse } from "../support/command_line.ts";
import { withoutCoverage } from "../support/without_coverage.ts";
import { PROGRAM } from "./busy.ts";

const PATH = new URL("busy.ts", import.meta.url).pathname;

Deno.test("busy: what follows the command's name belongs to the command", () => {
  const command = ["deno", "task", "test", "--all", "--loops", "3", "--help"];
  assertEquals(parse(PROGRAM, ["--loops", "2", "--stop", ...command]), { loops: 2, nice: 0, stop: true, command });
});

Deno.test("busy: refuses a run without a command", () => {
  assertThrows(() => parse(PROGRAM, ["--loops", "2"]), Error, "There is no command");
});

Deno.test("busy --stop leaves a process stopped that a test has stopped", async () => {
  const stopped = "sleep 60 & kill -STOP $!; sleep 3; ps -o s= -p $!; kill -KILL $!";
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--allow-run", PATH, "--loops", "0", "--stop", "sh", "-c", stopped],
    clearEnv: true,
    env: withoutCoverage(),
    stderr: "null",
  }).output();
  assertEquals(new TextDecoder().decode(stdout).trim(), "T");
});
