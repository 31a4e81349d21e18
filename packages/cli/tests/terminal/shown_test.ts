import { assertEquals } from "@std/assert";
import { json, oneLine, shown } from "../../src/terminal/shown.ts";

/** Texts that a terminal would obey, hide, or show in another order. */
const HOSTILE: Readonly<Record<string, string>> = {
  "\x1b[2J": '"\\u001b[2J"',
  "a\nb": '"a\\nb"',
  "\x07": '"\\u0007"',
  "\x7f\x9b31m": '"\\u007f\\u009b31m"',
  "a\u202eb": '"a\\u202eb"',
  "\u2066x\u2069": '"\\u2066x\\u2069"',
  "zero\u200bwidth": '"zero\\u200bwidth"',
  "no\u00a0break": '"no\\u00a0break"',
  "\u2028": '"\\u2028"',
  "\ufeffa": '"\\ufeffa"',
  "\u{e0041}": '"\\udb40\\udc41"',
  "\u3164": '"\\u3164"',
  "\ud800": '"\\ud800"',
};

Deno.test("shown() leaves what looks like itself as it is", () => {
  for (const text of ["invoice:42", "a b", "ä/ö", "日本", "😀", "it's", "*?[x]", "%41", "--yes"]) {
    assertEquals(shown(text), text);
  }
});

Deno.test("shown() quotes a text that would not be seen as it is", () => {
  for (const [text, expected] of Object.entries(HOSTILE)) assertEquals(shown(text), expected);
  assertEquals([shown(""), shown(" a"), shown("a "), shown('"a"'), shown("a\\n")], [
    ...['""', '" a"', '"a "', '"\\"a\\""', '"a\\\\n"'],
  ]);
});

Deno.test("shown() shows different texts differently", () => {
  const texts = [...Object.keys(HOSTILE), ...Object.values(HOSTILE), "\\u001b[2J", "a b", "a\u00a0b"];
  assertEquals(new Set(texts.map(shown)).size, texts.length);
});

Deno.test("json() writes one line without control characters, which parses to the same", () => {
  const value = { names: Object.keys(HOSTILE), nested: { a: [1, null, true] } };
  const text = json(value);
  assertEquals(JSON.parse(text), value);
  assertEquals(/[\p{C}\p{Zl}\p{Zp}]/u.test(text), false);
});

Deno.test("json() writes a fence as a string", () => {
  assertEquals(json({ fence: 9_007_199_254_740_993n }), '{"fence":"9007199254740993"}');
});

Deno.test("oneLine() joins lines and escapes the rest", () => {
  assertEquals(oneLine("a\n  b\r\nc \x1b[1m\n"), "a; b; c \\u001b[1m");
});
