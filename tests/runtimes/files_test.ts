import { assertEquals } from "@std/assert";
import { DENO_ONLY, FILES } from "./files.ts";

const TESTS = new URL("../", import.meta.url);

/** The paths of all test files. */
function paths(folder = ""): string[] {
  return Array.from(Deno.readDirSync(new URL(folder, TESTS))).flatMap(({ name, isDirectory }) => {
    if (isDirectory) return paths(`${folder}${name}/`);
    return name.endsWith("_test.ts") ? [folder + name] : [];
  });
}

Deno.test("every test file runs in all runtimes, or it is said why not", () => {
  const others = paths().filter((path) => !FILES.includes(path));
  assertEquals(paths().length, FILES.length + others.length, "no file is named twice, and all that are named exist");
  const starts = Object.keys(DENO_ONLY);
  assertEquals(others.filter((path) => !starts.some((start) => path.startsWith(start))), []);
  assertEquals(starts.filter((start) => !others.some((path) => path.startsWith(start))), [], "no reason is idle");
});
