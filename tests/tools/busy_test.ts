// Deno only: it reads a command line of the tools.
import { assertEquals, assertThrows } from "@std/assert";
import { parse } from "../support/command_line.ts";
import { PROGRAM } from "./busy.ts";

Deno.test("busy: what follows the command's name belongs to the command", () => {
  const command = ["deno", "task", "test", "--once", "--loops", "3", "--help"];
  assertEquals(parse(PROGRAM, ["--loops", "2", "--stop", ...command]), { loops: 2, nice: 0, stop: true, command });
});

Deno.test("busy: refuses a run without a command", () => {
  assertThrows(() => parse(PROGRAM, ["--loops", "2"]), Error, "There is no command");
});
