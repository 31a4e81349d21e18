const ROOT = new URL("../../", import.meta.url);

/** The folders with tests: of the lock, and of the packages beside it. */
export const TESTS: readonly string[] = ["tests/", "packages/"];

/** The packages beside the lock. */
export const MEMBERS: readonly string[] = ["cli", "compat", "otel", "testing"];

/** The folders with the sources of all packages. */
export const SOURCES: readonly string[] = ["src/", ...MEMBERS.map((name) => `packages/${name}/src/`)];

/** Returns the paths of all test files under a folder of the repository, such as `tests/`, in their order. */
export function testFiles(folder: string): string[] {
  return sourceFiles(folder, "_test.ts");
}

/** Returns the paths of all files under a folder of the repository whose names end so, in their order. */
export function sourceFiles(folder: string, end: string): string[] {
  return [...Deno.readDirSync(new URL(folder, ROOT))].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return sourceFiles(`${folder}${name}/`, end);
    return name.endsWith(end) ? [folder + name] : [];
  }).sort();
}

/** Returns the text of a file of the repository. */
export function textOf(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}
