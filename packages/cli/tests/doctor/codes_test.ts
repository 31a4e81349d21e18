// Deno only: it reads files of the repository.
import { assert, assertEquals } from "@std/assert";
import { CODES } from "../../src/doctor/finding.ts";
import { textOf } from "../../../../tests/support/test_files.ts";

/** Returns the level of each code, as the table of the docs has it. */
function documented(): Map<string, string> {
  const [, table = ""] = /^\| code +\| level .*\n\|[-| ]+\|\n((?:\|.*\n)+)/m.exec(textOf("docs/command_line.md")) ?? [];
  return new Map(Array.from(table.matchAll(/^\| `([\w-]+)` +\| (\w+) /gm), ([, code, level]) => [code!, level!]));
}

/** Returns the level of each code with which the sources make findings, as their texts are listed. */
function emitted(): Map<string, string> {
  const levels = new Map<string, string>();
  for (const [, level, code] of textOf("packages/cli/tests/texts.txt").matchAll(/^(error|warning) ([\w-]+):/gm)) {
    levels.set(code!, (levels.get(code!) ?? level) === level ? level! : "both");
  }
  return levels;
}

Deno.test("docs/command_line.md has each code of doctor with its level, and no other", () => {
  assertEquals([...documented().keys()].sort(), [...CODES].sort());
  const levels = emitted();
  assert(levels.size >= 20, "the findings were found");
  assertEquals([...documented()].sort(), [...levels].sort());
});
