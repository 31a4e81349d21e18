// Deno only: it tests a tool for Deno.
import { assertEquals, assertThrows } from "@std/assert";
import { PROGRAM as SIMULATION } from "../simulation/options.ts";
import {
  choice,
  choices,
  flag,
  list,
  MISUSED,
  parse,
  path,
  program,
  readOptions,
  usage,
  whole,
} from "./command_line.ts";

const PROGRAM = program({
  about: "Counts\n    sheep.",
  usage: "sheep [options]",
  options: {
    jobs: whole("N", "how many", { least: 1, most: 64, default: 4 }),
    breed: choice("B", "merino or texel", ["merino", "texel"], "merino"),
    row: choices("ROW", "these rows", ["a", "b", "c"]),
    only: list("A,B", "these alone, and no others, however many of them there are in the whole flock"),
    json: path("FILE", "where it is written"),
    keepGoing: flag("count on"),
  },
  notes: "Good\n    night.",
  check: ({ jobs, breed }) => {
    if (breed === "texel" && jobs > 32) throw new Error("too many");
  },
});

/** Reads the options, and returns what was printed as well. */
function printed(...args: string[]): { returned: unknown; lines: string[] } {
  const lines: string[] = [];
  const { log, error } = console;
  console.log = (text: string) => void lines.push(`out: ${text}`);
  console.error = (text: string) => void lines.push(`err: ${text}`);
  try {
    return { returned: readOptions(PROGRAM, args), lines };
  } finally {
    Object.assign(console, { log, error });
  }
}

Deno.test("readOptions() returns what was given, and defaults", () => {
  const none = { jobs: 4, breed: "merino", row: ["a", "b", "c"], only: [], json: undefined, keepGoing: false };
  assertEquals(printed(), { returned: none, lines: [] });
  const args = "--jobs 1 --jobs 64 --breed merino --row=c,a --only x --only y, --json - --keep-going".split(" ");
  const all = { jobs: 64, breed: "merino", row: ["a", "c"], only: ["x", "y"], json: "-", keepGoing: true };
  assertEquals(printed(...args), { returned: all, lines: [] });
});

Deno.test("readOptions() prints the help, folded, with defaults and ranges", () => {
  const help = `Counts sheep.

Usage: sheep [options]

  --jobs N      how many, 1 to 64 (default: 4)
  --breed B     merino or texel (default: merino)
  --row ROW     these rows
  --only A,B    these alone, and no others, however many of them there are in
                the whole flock
  --json FILE   where it is written
  --keep-going  count on
  --help        this text

Good night.`;
  assertEquals([printed("--help"), printed("-h", "--jobs", "0"), usage(PROGRAM)], [
    { returned: 0, lines: [`out: ${help}`] },
    { returned: 0, lines: [`out: ${help}`] },
    help,
  ]);
});

Deno.test("readOptions() prints what is wrong, with exit status 2", () => {
  const wrong = { returned: MISUSED, lines: ['err: --json needs a value: got ""\nSee --help.'] };
  assertEquals(printed("--json", ""), wrong);
});

Deno.test("parse() refuses what is unknown or out of range, and names and quotes it", () => {
  for (const text of ["", " ", "0", "65", "1.5", "many", "NaN", "Infinity"]) {
    const says = `--jobs must be a whole number from 1 to 64: got "${text}"`;
    assertThrows(() => parse(PROGRAM, [`--jobs=${text}`]), Error, says);
  }
  const wrong: [args: string, says: string][] = [
    ["--breed goat", '--breed must be one of merino, texel: got "goat"'],
    ["--row a,d", '--row must be one of a, b, c: got "d"'],
    ["--breed texel --jobs 33", "too many"],
    ["--keepGoing", "--keepGoing"],
    ["--keep-going=yes", "--keep-going"],
    ["word", "word"],
  ];
  for (const [args, says] of wrong) assertThrows(() => parse(PROGRAM, args.split(" ")), Error, says);
  for (const args of [["--seeds=0"], ["--from=-1"], ["3"]]) {
    assertThrows(() => parse(SIMULATION, args), Error, args[0]!.split("=")[0]!);
  }
});
