// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";

const root = new URL("../", import.meta.url);

interface Doc {
  readonly doc?: string;
  readonly tags?: readonly { readonly kind: string; readonly doc?: string }[];
}

interface Docs {
  readonly nodes: Readonly<Record<string, { readonly module_doc?: Doc }>>;
}

/** What is published of the folders. */
const PUBLISHED = /^(src\/[a-z_/\d]+\.ts|docs\/[a-z_/]+\.(md|svg)|docs\/operations\/[a-z.]+\.(json|yml))$/;

const { exports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
const entries: string[] = Object.values(exports);

Deno.test("each entry point has module docs with an example", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["doc", "--json", ...entries], cwd: root })
    .output();
  const { nodes }: Docs = JSON.parse(new TextDecoder().decode(stdout));
  assertEquals(Object.keys(nodes).length, entries.length);
  for (const [entry, { module_doc: module }] of Object.entries(nodes)) {
    assert((module?.doc ?? "") !== "", `${entry} says what it is for`);
    const examples = module?.tags?.filter((tag) => tag.kind === "example") ?? [];
    assert(examples.some(({ doc }) => doc?.includes("@holdfast/lock")), `${entry} has an example`);
  }
});

Deno.test("the published files are the module and its docs, and no tests", async () => {
  const { stderr, success } = await new Deno.Command(Deno.execPath(), {
    args: ["publish", "--dry-run", "--allow-dirty", "--no-check"],
    cwd: root,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stderr);
  assert(success, text);
  const files = [...text.matchAll(/^\s*file:\/\/(\S+) \(/gm)].map(([, path]) => path!.slice(root.pathname.length));
  for (const file of ["mod.ts", "README.md", "LICENSE", "CHANGELOG.md", "deno.json"]) {
    assert(files.includes(file), `${file} is published`);
  }
  assertEquals(
    files.filter((file) => file.includes("/") && !PUBLISHED.test(file)),
    [],
  );
});
