import { stripVTControlCharacters } from "node:util";
import { textOf } from "../support/test_files.ts";
import { isModel, waitsForOthers } from "./tiers.ts";

/** How many test files run in one module. */
const FILES = 20;

/** The comment of a file that does not run in one module with others, before the reason. */
const ALONE = /^\/\/ Alone: /m;

/** The line of a test that runs in such a module. */
const LINE = /^\S*\/(together\d+)_test\.ts => (.+?) \.\.\./;

/** The global variable for the file whose tests are being defined, and for where their names are noted. */
const DEFINING = "holdfastDefining";

/** Modules that run test files. */
export interface Together {
  readonly modules: readonly string[];
  /** Returns a line of `deno test` in which the test file stands in place of its module. */
  named(line: string): string;
}

/**
 * Returns the unit tests that run in one module with others, and those that do not: they compute, or wait for others.
 */
export function divided(units: readonly string[]): Readonly<Record<"shared" | "alone", readonly string[]>> {
  const isAlone = (file: string) => isModel(file) || waitsForOthers(file) || ALONE.test(textOf(file));
  return { shared: units.filter((file) => !isAlone(file)), alone: units.filter(isAlone) };
}

/**
 * Writes modules to a folder, each of which runs some test files. For each path `deno test` starts an isolate, loads
 * what the file imports, and fills an array of ten million elements for benchmarks: longer than most unit tests take.
 */
export function together(files: readonly string[], folder: string): Together {
  const root = new URL("../../", import.meta.url);
  const modules = Array.from({ length: Math.ceil(files.length / FILES) }, (_, i) => {
    const lines = files.slice(i * FILES, (i + 1) * FILES).flatMap((file) => [
      `Reflect.set(globalThis, "${DEFINING}", ${JSON.stringify({ file, names: `${folder}/together${i}` })});`,
      `await import("${new URL(file, root)}");`,
    ]);
    const path = `${folder}/together${i}_test.ts`;
    Deno.writeTextFileSync(path, `${lines.join("\n")}\n`);
    return path;
  });
  const known = new Map<string, ReadonlyMap<string, string>>();
  const named = (line: string) => {
    const [, module, name] = LINE.exec(stripVTControlCharacters(line)) ?? [];
    if (module === undefined || name === undefined) return line;
    // All tests of a module are defined before the first one runs.
    const files = known.get(module) ?? filesOf(`${folder}/${module}`);
    known.set(module, files);
    const file = files.get(name);
    return file === undefined ? line : line.replace(/\.{0,2}\/\S*together\d+_test\.ts/, `./${file}`);
  };
  return { modules, named };
}

/** Notes the name of a test that is being defined, if its file runs in one module with others. */
export function noteDefined(name: string): void {
  const place: { file: string; names: string } | undefined = Reflect.get(globalThis, DEFINING);
  if (place === undefined) return;
  Deno.writeTextFileSync(place.names, `${JSON.stringify([name, place.file])}\n`, { append: true });
}

/** Returns the files of tests by the names of these. */
function filesOf(path: string): ReadonlyMap<string, string> {
  return new Map(Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => JSON.parse(line)));
}
