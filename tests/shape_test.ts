// Deno only: it looks at the sources.
import { assertEquals } from "@std/assert";
import ts from "typescript";

/** The largest file, in lines, and the largest class, in fields that change, that need no reason. */
const [LINES, FIELDS] = [300, 7];

/** Files that are longer, and why they are one file. */
const LONG: Readonly<Record<string, string>> = {
  "src/internal/handoff/name_handoff.ts": "each event of a handle changes the local queue and the grant in one step",
  "src/store.ts": "the contract, two thirds of which are its documentation",
  "src/stores/memory/store.ts": "the whole store: what is a server and its scripts elsewhere",
  "src/stores/redis/store.ts": "one short method for each script, of which a node of a quorum needs five more",
  "src/testing/behaviours/runs.ts": "a table of behaviours",
};

/** Classes with more fields that change, and why they are one class. */
const WIDE: Readonly<Record<string, string>> = {
  "src/internal/handoff/grant.ts Grant": "its block of fences takes three, beside one phase",
  "src/internal/handoff/handle.ts Handle": "who attempts, who listens and who has a place change independently",
};

const ROOT = new URL("../", import.meta.url);

function sources(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, ROOT))].flatMap(({ name, isDirectory }) =>
    isDirectory ? sources(`${folder}${name}/`) : /(?<!generated)\.ts$/.test(name) ? [`${folder}${name}`] : []
  ).sort();
}

function textOf(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

/** Returns how many fields of each class change after it was made. */
function fieldsOf(path: string, text = textOf(path)): Record<string, number> {
  const counts: Record<string, number> = {};
  const visit = (node: ts.Node) => {
    if (ts.isClassDeclaration(node)) {
      const fields = node.members.filter(ts.isPropertyDeclaration);
      const isFixed = ({ modifiers }: ts.PropertyDeclaration) =>
        modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ReadonlyKeyword || kind === ts.SyntaxKind.DeclareKeyword);
      counts[`${path} ${node.name?.text}`] = fields.filter((field) => !isFixed(field)).length;
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest));
  return counts;
}

Deno.test("files of src/ have at most 300 lines, but for those that say why", () => {
  const long = sources("src/").filter((path) => textOf(path).trimEnd().split("\n").length > LINES);
  assertEquals(long, Object.keys(LONG));
});

Deno.test("classes of src/ have at most 7 fields that change, but for those that say why", () => {
  const counts = Object.entries(Object.assign({}, ...sources("src/").map((path) => fieldsOf(path))));
  assertEquals(counts.filter(([, fields]) => Number(fields) > FIELDS).map(([name]) => name), Object.keys(WIDE));
});

Deno.test("types of src/ have names of their own", () => {
  const declared = sources("src/").flatMap((path) => {
    const names = textOf(path).matchAll(/^(?:export )?(?:interface|type|class) (\w+)/gm);
    return Array.from(names, ([, name]) => ({ name: name!, path }));
  });
  const twice = Object.entries(Object.groupBy(declared, ({ name }) => name)).filter(([, all]) => all!.length > 1);
  assertEquals(twice.map(([name, all]) => `${name}: ${all!.map(({ path }) => path).join(", ")}`), []);
});

/** Beginnings of a doc comment that need a second reading: a causative, and a participle without its noun. */
const SECOND_READING = /^(?:Has|Lets|Gets) (?!no\b)\w+|^(?:Begins|Ends|Starts|Goes on) with\b|^(?:Is|Are|Was|Were) \w+/;

/** Returns the first sentence of each doc comment that is to be read twice. */
function readTwice(text: string): string[] {
  const comments = Array.from(
    text.matchAll(/\/\*\*([^]*?)\*\//g),
    ([, comment = ""]) => comment.replace(/\s*\n\s*\* ?/g, " ").trim(),
  );
  return comments.filter((comment) => SECOND_READING.test(comment)).map((comment) => comment.slice(0, 80));
}

Deno.test("doc comments of src/ begin with a verb that says what is done", () => {
  assertEquals(sources("src/").flatMap((path) => readTwice(textOf(path)).map((text) => `${path}: ${text}`)), []);
});

Deno.test("readTwice() finds the beginnings that need a second reading", () => {
  for (const text of ["Has the timer fire.", "Begins with none.", "Is called when it was.", "Lets it go."]) {
    assertEquals(readTwice(`/** ${text} */`), [text]);
  }
  assertEquals(readTwice("/** Creates an empty list. */ /** Called when the lock was revoked. */"), []);
});
