// Deno only: it reads command lines with parseArgs of node:util, which not every runtime has.
import { assertEquals, assertThrows } from "@std/assert";
import { type OptionSpec, UsageError } from "../../src/command.ts";
import { readCommandLine, splitVerb } from "../../src/arguments/command_line.ts";

const OWN: Record<string, OptionSpec> = {
  wait: { type: "string", value: "TIME", help: "how long to wait" },
  yes: { type: "boolean", short: "y", help: "do not ask" },
  meta: { type: "string", multiple: true, help: "what describes the holder" },
};

Deno.test("splitVerb() finds the verb behind the options of every verb", () => {
  assertEquals(splitVerb(["--store", "redis://a", "--json", "ls", "--wait", "ls"]), {
    verb: "ls",
    others: ["--store", "redis://a", "--json", "--wait", "ls"],
  });
  assertEquals(splitVerb(["--store=redis://a", "show", "show"]).others, ["--store=redis://a", "show"]);
});

Deno.test("splitVerb() finds no verb behind two dashes", () => {
  assertEquals(splitVerb(["--json", "--", "ls"]), { verb: undefined, others: ["--json", "--", "ls"] });
});

Deno.test("splitVerb() refuses an option of a verb in front of it", () => {
  assertThrows(
    () => splitVerb(["--wait", "5s", "run"]),
    UsageError,
    "unknown option --wait: put the options of a verb",
  );
});

Deno.test("readCommandLine() reads options wherever they stand, up to two dashes", () => {
  const line = readCommandLine(["a", "--wait", "5s", "b", "-y", "--json", "--", "c", "--yes", "--", "d"], OWN);
  assertEquals(line.options, { wait: "5s", yes: true });
  assertEquals([line.args, line.rest], [["a", "b"], ["c", "--yes", "--", "d"]]);
  assertEquals([line.global.json, line.global.colours, line.global.help], [true, true, false]);
});

Deno.test("readCommandLine() keeps all values of an option that may be repeated", () => {
  const line = readCommandLine(
    ["--store", "a", "--meta", "x=1", "--store=b", "--meta=y=2", "--wait=1", "--wait=2"],
    OWN,
  );
  assertEquals(line.global.stores, ["a", "b"]);
  assertEquals(line.lists["meta"], ["x=1", "y=2"]);
  assertEquals(line.options["wait"], "2");
});

Deno.test("readCommandLine() says what is wrong with an option, and what to do", () => {
  const wrong: [string[], string][] = [
    [["--what"], "unknown option --what: known are --store, --config, --json"],
    [["-x"], "unknown option -x: known are"],
    [["--wait"], "--wait needs a value: --wait TIME"],
    [["--wait", "--yes"], "--wait needs a value: --wait TIME"],
    [["--meta"], "--meta needs a value: --meta VALUE"],
    [["--yes=no"], "--yes takes no value: got no"],
    [["--toString"], "unknown option --toString"],
    [["--\x1b[2J"], 'unknown option "--\\u001b[2J"'],
  ];
  for (const [args, message] of wrong) assertThrows(() => readCommandLine(args, OWN), UsageError, message);
});

Deno.test("readCommandLine() takes a single dash for a value, and one behind = for any", () => {
  assertEquals(readCommandLine(["--wait", "-"], OWN).options["wait"], "-");
  assertEquals(readCommandLine(["--wait=-5"], OWN).options["wait"], "-5");
});
