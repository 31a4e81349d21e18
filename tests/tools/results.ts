import { stripVTControlCharacters } from "node:util";

/** A test, or a step of one, as a report in JUnit's format has it. */
export interface Case {
  /** The file that ran it; of a step, the one that defines it. */
  readonly file: string;
  /** Its name; of a step, behind that of the test and `>`. */
  readonly name: string;
  readonly outcome: "passed" | "failed" | "ignored" | "filtered out";
  /** How long it took. */
  readonly seconds: number;
  readonly error: string;
}

/** What a call of `deno test` leaves behind. */
export interface Ended {
  /** The exit status. */
  readonly code: number;
  /** The report in JUnit's format; `""` when there is none. */
  readonly report: string;
  /** What was printed. */
  readonly output: string;
}

/** A test that failed. */
export interface FailedTest {
  readonly name: string;
  /** The test files that may have run it; none when that is not known. */
  readonly files: readonly string[];
  readonly error: string;
}

/** What the tests of one call have come to. */
export interface Results {
  readonly passed: readonly Case[];
  readonly failed: readonly Case[];
  readonly ignored: readonly Case[];
  /** What has failed without a test that the report names, such as a file that does not load; at least that much. */
  readonly unnamed: number;
  /** Why there are such failures, as far as it is known. */
  readonly reasons: readonly string[];
  /** The tests that failed, without their steps. */
  readonly tests: readonly FailedTest[];
}

/** How a line begins that says what became of a test, with the test file that ran it. */
const RAN = /^\.\/(\S+) => /gm;

/** The same, with the name of the test. */
const NAMED = /^\.\/(\S+) => (.+) \.\.\. /gm;

/** What the report takes for the file of each test, because it defines them all. */
const LIMIT = "tests/tools/limit.ts";

/** The line for a test that failed. */
const FAILED = /^\.\/(\S+) => (.+) \.\.\. (?:FAILED|cancelled) \(/gm;

/** What Deno notes, and lets pass, when a file ends its process: by then its tests may not have run. */
const EXITED = /^note \.\/(\S+) called `Deno\.exit\(.*$/gm;

/** The last line. It counts also what no report has: a file that does not load, an error that no test caught. */
const SUMMARY = /^(?:ok|FAILED) \| \d+ passed.* \| (\d+) failed(?: \((\d+) steps?\))?/gm;

/** The line of a file whose tests follow, where one file runs at a time: their lines do not name it. */
const BEGUN = /^running \d+ tests? from \.\/(\S+)$/;

/**
 * The line of a test, where one file runs at a time, that takes longer than a minute; its result has a line of its own.
 */
const LONG = /^(.+) \.\.\.'\1' has been running for over \(.*\)$/;
const RESULT = /^ (?:ok|FAILED|cancelled) \(/;

/** Returns an output in which the line of each test begins with its file. */
function withFiles(output: string): string {
  let file: string | undefined;
  let long = "";
  return output.split("\n").map((line) => {
    file = BEGUN.exec(line)?.[1] ?? file;
    long = LONG.exec(line)?.[1] ?? long;
    const whole = RESULT.test(line) ? `${long} ...${line}` : line;
    return file !== undefined && /^(?!\.\/)\S.* \.\.\. /.test(whole) ? `./${file} => ${whole}` : whole;
  }).join("\n");
}

/**
 * Reads what a call of `deno test --parallel` came to. What is not sure to have passed has failed.
 *
 * @param files the test files of which each must have run a test
 */
export function resultsOf({ code, report, output }: Ended, files: readonly string[] = []): Results {
  const text = withFiles(stripVTControlCharacters(output));
  const ranIn = new Map(Array.from(text.matchAll(NAMED), ([, file, name]) => [name!, file!]));
  const cases = casesOf(report).map((each) => {
    return each.file.endsWith(LIMIT) ? { ...each, file: ranIn.get(each.name) ?? each.file } : each;
  });
  const having = (outcome: Case["outcome"]) => cases.filter((each) => each.outcome === outcome);
  const [passed, failed, ignored] = [having("passed"), having("failed"), having("ignored")];
  const ran = new Set(Array.from(text.matchAll(RAN), ([, file]) => file));
  const exited = Array.from(text.matchAll(EXITED), ([, file]) => file!);
  const silent = files.filter((file) => !ran.has(file) && !exited.includes(file));
  const reasons = [
    ...exited.map((file) => `${file} called Deno.exit()`),
    ...silent.map((file) => `no test of ${file} has run`),
  ];
  const [, tests, steps = 0] = [...text.matchAll(SUMMARY)].at(-1) ?? [];
  // Without that line, the process has ended before.
  const counted = tests === undefined ? Number(code !== 0) : Number(tests) + Number(steps) - failed.length;
  let unnamed = Math.max(silent.length, counted, 0) + exited.length;
  if (unnamed + failed.length === 0 && (code !== 0 || passed.length === 0)) {
    unnamed = 1;
    reasons.push(code === 0 ? "no test has run" : `exit status ${code} although no test failed`);
  }
  return { passed, failed, ignored, unnamed, reasons, tests: testsOf(failed, text) };
}

function testsOf(failed: readonly Case[], text: string): FailedTest[] {
  const lines = [...text.matchAll(FAILED)];
  const isStep = ({ name }: Case) => failed.some((other) => name.startsWith(`${other.name} > `));
  return failed.filter((each) => !isStep(each)).map(({ name, error }) => {
    const files = lines.flatMap(([, file, test]) => test === name ? [file!] : []);
    return { name, files: [...new Set(files)], error };
  });
}

function casesOf(report: string): Case[] {
  const cases = report.matchAll(/<testcase name="([^"]*)" classname="([^"]*)"([^>]*)>([^]*?)<\/testcase>/g);
  return Array.from(cases, ([, name = "", file = "", attributes = "", body = ""]) => ({
    file: plain(file).replace(/^\.\//, ""),
    name: plain(name),
    // What a filter left out has taken no time.
    outcome: /<(failure|error)\b/.test(body)
      ? "failed"
      : !body.includes("<skipped")
      ? "passed"
      : attributes.includes(" time=")
      ? "ignored"
      : "filtered out",
    seconds: Number(/ time="([\d.]+)"/.exec(attributes)?.[1] ?? 0),
    error: plain(body.replace(/<[^>]*>/g, "")).trim(),
  }));
}

/** Undoes what XML does to text. */
function plain(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&apos;", "'")
    .replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}
