import { assertEquals } from "@std/assert";
import { cut, table, wrap } from "../../src/terminal/table.ts";

Deno.test("table() puts the cells of a column below each other", () => {
  assertEquals(table([["A", "BB", "C"], ["aaa", "b", ""], ["a", "bbb", "c"]]), [
    "A    BB   C",
    "aaa  b",
    "a    bbb  c",
  ]);
});

Deno.test("table() counts wide and combining characters as a terminal does", () => {
  assertEquals(table([["日本", "x"], ["e\u0301", "x"], ["😀a", "x"]]), ["日本  x", "e\u0301     x", "😀a   x"]);
});

Deno.test("table() does not let one long cell push the others away", () => {
  const [head, long, short] = table([["NAME", "MODE"], ["n".repeat(1_024), "x"], ["a", "y"]]);
  assertEquals(head, "NAME".padEnd(50) + "MODE");
  assertEquals(long, "n".repeat(1_024) + "  x");
  assertEquals(short, "a".padEnd(50) + "y");
});

Deno.test("cut() shortens a line to the width of the terminal", () => {
  assertEquals([cut("abc", 3), cut("abcd", 3), cut("日本語", 5), cut("日本語", 6)], ["abc", "ab…", "日本…", "日本語"]);
});

Deno.test("wrap() breaks a text between words, and leaves a long word whole", () => {
  assertEquals(wrap("a bc def ghijklm n", 6), ["a bc", "def", "ghijklm", "n"]);
  assertEquals(wrap("a bc", Infinity), ["a bc"]);
});
