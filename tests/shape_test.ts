// Deno only: it looks at the sources.
import { assertEquals } from "@std/assert";
import ts from "typescript";
import { SOURCES } from "./support/test_files.ts";

/** The largest file, in lines, and the largest class, in fields that change, that need no reason. */
const [LINES, FIELDS] = [300, 7];

/** Files that are longer, and why they are one file. */
const LONG: Readonly<Record<string, string>> = {
  "src/contract/store.ts": "the contract, two thirds of which are its documentation",
  "packages/testing/src/behaviours/runs.ts": "a table of behaviours",
};

/** Classes with more fields that change, and why they are one class. */
const WIDE: Readonly<Record<string, string>> = {
  "src/handoff/grant.ts Grant": "its block of fences takes three, beside one phase",
  "src/handoff/handle.ts Handle": "who attempts, who listens and who has a place change independently",
  "src/stores/zookeeper/session.ts ZookeeperSession":
    "what was sent, what was heard and who waits change independently",
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
  const long = SOURCES.flatMap(sources).filter((path) => textOf(path).trimEnd().split("\n").length > LINES);
  assertEquals(long, Object.keys(LONG));
});

Deno.test("comments have at most 120 columns", () => {
  const folders = ["src/", "packages/", "tests/", "tools/", "bench/", "examples/"];
  const long = folders.flatMap(sources).flatMap((path) => {
    // Code in them is as it is to be typed.
    const text = textOf(path).replace(/```[^]*?```/g, "");
    return text.split("\n").filter((line) => /^ *(\*|\/\/|\/\*)/.test(line) && line.length > 120).map((line) =>
      `${path}: ${line}`
    );
  });
  assertEquals(long, []);
});

Deno.test("classes of src/ have at most 7 fields that change, but for those that say why", () => {
  const counts = Object.entries(Object.assign({}, ...SOURCES.flatMap(sources).map((path) => fieldsOf(path))));
  assertEquals(counts.filter(([, fields]) => Number(fields) > FIELDS).map(([name]) => name), Object.keys(WIDE));
});

/** Returns the lines whose failures are ignored, without a comment beside or above them that may say why. */
function unexplained(path: string, text = textOf(path)): string[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    const isIgnored = /catch\(\(\) => (\{\}|undefined)\)/.test(line);
    const isExplained = lines.slice(Math.max(0, at - 3), at + 1).some((each) => /\/\/|^\s*(\/\*)?\*/.test(each));
    return isIgnored && !isExplained ? [`${path}: ${line.trim()}`] : [];
  });
}

Deno.test("failures that src/ ignores have a comment that says why", () => {
  assertEquals(SOURCES.flatMap(sources).flatMap((path) => unexplained(path)), []);
  assertEquals(unexplained("a.ts", "\n\n\n  end().catch(() => {});\n"), ["a.ts: end().catch(() => {});"]);
});

Deno.test("types of src/ have names of their own", () => {
  for (const folder of SOURCES) {
    const declared = sources(folder).flatMap((path) => {
      const names = textOf(path).matchAll(/^(?:export )?(?:interface|type|class) (\w+)/gm);
      return Array.from(names, ([, name]) => ({ name: name!, path }));
    });
    const twice = Object.entries(Object.groupBy(declared, ({ name }) => name)).filter(([, all]) => all!.length > 1);
    assertEquals(twice.map(([name, all]) => `${name}: ${all!.map(({ path }) => path).join(", ")}`), []);
  }
});

/** What makes the first sentence of a doc comment need a second reading. */
const SECOND_READING: readonly RegExp[] = [
  // A causative, a participle or a passive without its noun.
  /^(?:Has|Lets|Gets) (?!no\b)\w+|^(?:Begins|Ends|Starts|Goes on) with\b|^(?:Is|Are|Was|Were) \w+/,
  // A pronoun or a relative clause in the place of the noun.
  /^(?:Those|That|Such|Who|Whose|What|Whatever|Whoever|One(?= (?:that|which|who|whose|of|is|has|may)\b))\b/,
  /\b(?:that|this|the|another|other|last|next|first|each|every|older|newer|same) one(?=$|[.,;:)]| (?:that|which|who|is|has|was)\b)/,
  /(?:^|[ (])those(?=[.,;:)]| (?:that|which|who|whose|of|in|on|with|behind|before|after|for|from|to|at|not|are|were)\b)/,
  /\b(?:of|for|by|to|with|than|from|before|after|behind|without|if|when|unless|until|because|once|as) that(?=[.,;:)]| (?:is|was|has|had|does|did|may|can|must|of)\b)/,
  /\b(?:[Rr]eturns|[Rr]esolves to|[Kk]eeps|[Nn]otes|[Rr]emoves|[Dd]eletes|[Ll]ists|[Ww]atches|[Rr]eads|of|by|from|than) what\b/,
  /\b(?:whoever|whatever (?:it|that|they)|lest)\b/,
  /\bwho (?:looks?|waits?|asks?|holds?|watch(?:es)?|comes?|uses?|has|have) (?:by itself|for it|again|it)\b/,
  // A negation that ends with an adverb.
  /\bany ?more\b/,
];

/** Returns the first sentence of each doc comment that is to be read twice. */
function readTwice(text: string): string[] {
  const comments = Array.from(
    text.matchAll(/\/\*\*([^]*?)\*\//g),
    ([, comment = ""]) => comment.replace(/\s*\n\s*\* ?/g, " ").trim(),
  );
  const sentences = comments.map((comment) => /^[^]*?[.!?](?=\s|$)/.exec(comment)?.[0] ?? comment);
  return sentences.filter((sentence) => SECOND_READING.some((pattern) => pattern.test(sentence)));
}

Deno.test("doc comments of src/ are understood at the first reading", () => {
  assertEquals(
    SOURCES.flatMap(sources).flatMap((path) => readTwice(textOf(path)).map((text) => `${path}: ${text}`)),
    [],
  );
});

Deno.test("readTwice() finds the first sentences that need a second reading", () => {
  const planted = [
    ...["Has the timer fire.", "Begins with none.", "Is called when it was.", "Lets it go."],
    ...[
      "Those that wait.",
      "What hands on the locks of a store.",
      "One that waits asks again.",
      "Who looks by itself.",
    ],
    ...["The state, or that of another one.", "Wakes the next one.", "Returns the ids of those that wait."],
    ...["Keeps what whoever asked has.", "Removes a lock that nobody wants any more.", "Notes what was read."],
    ...["The larger of two ends, unless that is over.", "Sets a timer, lest the wait be endless."],
  ];
  assertEquals(planted.filter((text) => readTwice(`/** ${text} More. */`).join() !== text), []);
  const plain = [
    ...[
      "Creates an empty list.",
      "Called when the lock was revoked.",
      "Whether one is left.",
      "One attempt of a handle.",
    ],
    ...["Waits in those cases.", "A lock that is held.", "Says what is wrong.", "How many of them are free."],
  ];
  assertEquals(plain.flatMap((text) => readTwice(`/** ${text} Those of others. */`)), []);
});
