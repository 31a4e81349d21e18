// Deno only: it reads a command line of the tools.
import { assertEquals, assertThrows } from "@std/assert";
import { parseOptions } from "./busy.ts";

Deno.test("busy: what follows the command's name belongs to the command", () => {
  assertEquals(parseOptions(["--loops", "2", "--stop", "deno", "task", "test", "--once"]), {
    help: false,
    loops: 2,
    nice: 0,
    stop: true,
    command: ["deno", "task", "test", "--once"],
  });
});

Deno.test("busy: refuses a run without a command, and numbers out of range", () => {
  assertThrows(() => parseOptions(["--loops", "2"]), Error, "There is no command");
  assertThrows(
    () => parseOptions(["--nice", "20", "true"]),
    Error,
    '--nice must be a whole number from 0 to 19: got "20"',
  );
});
