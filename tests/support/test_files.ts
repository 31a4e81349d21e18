const ROOT = new URL("../../", import.meta.url);

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
