// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { entryPoints, PACKAGES } from "./tools/packages.ts";

const root = new URL("../", import.meta.url);

interface Doc {
  readonly doc?: string;
  readonly tags?: readonly { readonly kind: string; readonly doc?: string }[];
}

interface Docs {
  readonly nodes: Readonly<Record<string, { readonly module_doc?: Doc }>>;
}

/** What is published of the folders. */
const PUBLISHED =
  /^(src\/[a-z_/\d]+\.ts|packages\/[a-z]+\/(mod\.ts|src\/[a-z_/\d]+\.ts|README\.md|deno\.json)|docs\/(README|[a-z_/]+)\.(md|svg)|docs\/operations\/[a-z.]+\.(json|yml))$/;

const entries = entryPoints();

Deno.test("each entry point has module docs with an example", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["doc", "--json", ...entries], cwd: root })
    .output();
  const { nodes }: Docs = JSON.parse(new TextDecoder().decode(stdout));
  assertEquals(Object.keys(nodes).length, entries.length);
  for (const [entry, { module_doc: module }] of Object.entries(nodes)) {
    assert((module?.doc ?? "") !== "", `${entry} says what it is for`);
    const examples = module?.tags?.filter((tag) => tag.kind === "example") ?? [];
    assert(examples.some(({ doc }) => doc?.includes("@holdfast/")), `${entry} has an example`);
  }
});

/** Returns the paths of the files of a package that are published. */
async function published(folder: string): Promise<string[]> {
  const { stderr, success } = await new Deno.Command(Deno.execPath(), {
    args: ["publish", "--dry-run", "--allow-dirty", "--no-check"],
    cwd: new URL(folder, root),
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stderr);
  assert(success, text);
  return [...text.matchAll(/^\s*file:\/\/(\S+) \(/gm)].map(([, path]) => path!.slice(root.pathname.length));
}

Deno.test("the published files are the modules and their docs, and no tests", async () => {
  const files = (await Promise.all(PACKAGES.map(({ folder }) => published(folder)))).flat();
  for (const file of ["mod.ts", "LICENSE", "CHANGELOG.md"]) assert(files.includes(file), `${file} is published`);
  for (const { folder } of PACKAGES) {
    for (const file of ["README.md", "deno.json"]) {
      assert(files.includes(folder + file), `${folder}${file} is published`);
    }
  }
  assertEquals(files.filter((file) => file.includes("/") && !PUBLISHED.test(file)), []);
});

Deno.test("all packages have one version", () => {
  assertEquals(new Set(PACKAGES.map(({ version }) => version)).size, 1);
});
