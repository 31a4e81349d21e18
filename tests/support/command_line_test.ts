// Deno only: it tests a tool for Deno.
import { assertEquals, assertThrows } from "@std/assert";
import { chosen, MISUSED, readOptions, wholeNumber } from "./command_line.ts";

/** Runs something, and returns what it returned and what it printed. */
function printed<T>(run: () => T): { returned: T; lines: string[] } {
  const lines: string[] = [];
  const { log, error } = console;
  console.log = (text: string) => void lines.push(`out: ${text}`);
  console.error = (text: string) => void lines.push(`err: ${text}`);
  try {
    return { returned: run(), lines };
  } finally {
    Object.assign(console, { log, error });
  }
}

Deno.test("readOptions() returns what was parsed", () => {
  const options = { help: false, seeds: 3 };
  assertEquals(printed(() => readOptions(() => options, () => "usage")), { returned: options, lines: [] });
});

Deno.test("readOptions() prints the usage with --help", () => {
  const { returned, lines } = printed(() => readOptions(() => ({ help: true }), () => "usage"));
  assertEquals([returned, lines], [0, ["out: usage"]]);
});

Deno.test("readOptions() prints what is wrong, with exit status 2", () => {
  const parse = () => {
    throw new Error("--seeds is wrong");
  };
  const { returned, lines } = printed(() => readOptions(parse, () => "usage"));
  assertEquals([returned, lines], [MISUSED, ["err: --seeds is wrong\nSee --help."]]);
});

Deno.test("wholeNumber() takes whole numbers between the bounds only", () => {
  assertEquals([wholeNumber("--jobs", "1", 1), wholeNumber("--jobs", "64", 1, 64)], [1, 64]);
  for (const text of ["", " ", "0", "65", "1.5", "many", "NaN", "Infinity"]) {
    const says = `--jobs must be a whole number from 1 to 64: got "${text}"`;
    assertThrows(() => wholeNumber("--jobs", text, 1, 64), Error, says);
  }
});

Deno.test("chosen() keeps the order of all, and refuses what is unknown", () => {
  assertEquals(chosen("row", ["c", "a"], ["a", "b", "c"]), ["a", "c"]);
  assertThrows(() => chosen("row", ["d"], ["a", "b"]), Error, 'Unknown row "d": there are a, b');
});
