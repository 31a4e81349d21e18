// Deno only: it tests the command that runs tests in the other runtimes.
import { assert, assertEquals } from "@std/assert";
import { entryPoints } from "../tools/packages.ts";

const root = new URL("../../", import.meta.url);

/** The names that the packages export. */
async function exported(): Promise<string[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", ...entryPoints()],
    cwd: root,
  }).output();
  interface Docs {
    nodes: Record<string, { symbols: { name: string }[] }>;
  }
  const { nodes }: Docs = JSON.parse(new TextDecoder().decode(stdout));
  const names = new Set(Object.values(nodes).flatMap(({ symbols }) => symbols.map(({ name }) => name)));
  // It is exported by its name, too.
  names.delete("default");
  return [...names].sort();
}

Deno.test("the program that TypeScript checks on the packed package uses every export", async () => {
  const names = await exported();
  assert(names.includes("acquire") && names.includes("storeSuite"), "the exports were found");
  const program = await Deno.readTextFile(new URL("types/program.ts", import.meta.url));
  const body = program.slice(program.lastIndexOf(`from "`));
  assertEquals(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(body)), []);
});
