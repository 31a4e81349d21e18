// Deno only: it looks at the sources.
import { assert, assertEquals } from "@std/assert";
import { CODES } from "../../src/doctor/finding.ts";
import { sourceFiles, textOf } from "../../../../tests/support/test_files.ts";

/** Returns the level of each code, as the table of the docs has it. */
function documented(): Map<string, string> {
  const [, table = ""] = /^\| code +\| level .*\n\|[-| ]+\|\n((?:\|.*\n)+)/m.exec(textOf("docs/command_line.md")) ?? [];
  return new Map(Array.from(table.matchAll(/^\| `([\w-]+)` +\| (\w+) /gm), ([, code, level]) => [code!, level!]));
}

/** Returns the level of each code with which the sources make findings. */
function emitted(): Map<string, string> {
  const levels = new Map<string, string>();
  const text = sourceFiles("packages/cli/src/", ".ts").map(textOf).join("");
  // `lacking` is an error, or a warning where a permission is optional.
  for (const [, call, code] of text.matchAll(/\b(error|warning|lacking)\(\s*"([\w-]+)"/g)) {
    const level = call === "lacking" ? "error" : call!;
    levels.set(code!, (levels.get(code!) ?? level) === level ? level : "both");
  }
  return levels;
}

Deno.test("docs/command_line.md has each code of doctor with its level, and no other", () => {
  assertEquals([...documented().keys()].sort(), [...CODES].sort());
  const levels = emitted();
  assert(levels.size >= 20, "the findings were found");
  assertEquals([...documented()].sort(), [...levels].sort());
});
