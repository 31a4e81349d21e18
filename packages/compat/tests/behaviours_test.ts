// Deno only: it looks at the sources.
import { assertEquals } from "@std/assert";
import { textOf } from "../../../tests/support/test_files.ts";

/** Returns the rows that name neither a test that exists nor a reason, of the tables of statements. */
function unexplained(page: string, tests: readonly string[]): string[] {
  const rows = page.split("\n").filter((line) => line.startsWith("| ") && !/^\| (statement|---)/.test(line));
  return rows.filter((row) => {
    const answer = row.split("|")[2] ?? "";
    const named = Array.from(answer.matchAll(/`([^`]+ [^`]+)`/g), ([, name]) => name!);
    return !named.every((name) => tests.includes(name)) ||
      named.length === 0 && !/^ Cannot hold: .+\.\s*$/.test(answer);
  });
}

/** Returns the names of the tests in a text, those that are made in a loop with each of its values. */
function namesIn(text: string): string[] {
  const names = Array.from(text.matchAll(/Deno\.test\(\s*["`](.+?)["`],/g), ([, name]) => name!);
  return ["one server", "3 servers"].flatMap((on) =>
    ["Mutex", "RedlockMutex", "Semaphore"].flatMap((kind) =>
      names.map((name) => name.replace("${on}", on).replace("${kind}", kind))
    )
  );
}

const FILES = [...Deno.readDirSync(new URL(".", import.meta.url))].map(({ name }) => `packages/compat/tests/${name}`);

Deno.test("behaviours.md names a test or a reason for each statement", () => {
  const tests = FILES.filter((path) => path.endsWith("_test.ts")).flatMap((path) => namesIn(textOf(path)));
  assertEquals(unexplained(textOf("packages/compat/tests/behaviours.md"), tests), []);
});

Deno.test("unexplained() finds a row without a test, and one whose test is gone", () => {
  const rows = ["| a | `does this` |", "| b | `did that` |", "| c | Cannot hold: so it is. |", "| d |  |"];
  assertEquals(unexplained(rows.join("\n"), ["does this"]), [rows[1], rows[3]]);
});
