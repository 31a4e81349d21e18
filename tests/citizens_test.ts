// Deno only: it looks at the sources.
import { assert, assertEquals } from "@std/assert";
import { sourceFiles, textOf } from "./support/test_files.ts";

/** The repository, or a copy of it in which something is missing. */
interface Tree {
  /** Returns the paths of all files under a folder, such as `src/stores/`. */
  readonly files: (folder: string) => readonly string[];
  /** Returns the text of a file; an empty one if there is none. */
  readonly text: (path: string) => string;
}

/** A folder of `src/stores/`, such as `deno_kv`, or the engine. */
interface StoreFolder {
  readonly name: string;
  /** How it is imported, such as `@holdfast/lock/deno-kv`. */
  readonly specifier: string;
  /** What it is called in a text. */
  readonly called: RegExp;
}

type Check = (tree: Tree, store: StoreFolder) => boolean;

const HEADINGS = [
  ...["When to use it", "Set-up", "What is stored", "What it promises", "What it does not promise", "Rights"],
  "Operations",
];

/** What is asked of each place: does it keep the order of the queue, tell of each end, and serve cohorts? */
const QUESTIONS = ["verification/queue/agrees.ts", "verification/events/really.ts", "cohort/suites.ts"];

/** What makes a store a full citizen, as listed in CONTRIBUTING.md. */
const ITEMS: Readonly<Record<string, Check>> = {
  "entry point": isExported,
  "module docs": (tree, { name }) => {
    const [docs = ""] = tree.text(`src/${folderOf(name)}/mod.ts`).match(/^\/\*\*[^]*?\*\//) ?? [];
    return /@example[^]*```ts[^]*```[^]*@module/.test(docs);
  },
  "page": (tree, { name }) => {
    const headings = Array.from(tree.text(pageOf(name)).matchAll(/^## (.+)$/gm), ([, heading]) => heading!);
    return headings.filter((heading) => HEADINGS.includes(heading)).join() === HEADINGS.join();
  },
  "choosing a store": (tree, { name }) => {
    const rows = rowsOf(tree.text("docs/choosing_a_store.md"), "All stores beside each other");
    return rows.some((row) => row.includes(`(${pageOf(name).replace("docs/", "")})`));
  },
  "guarantees": (tree, { called }) => {
    return rowsOf(tree.text("docs/guarantees.md"), "What this rests on").some((row) => called.test(cellsOf(row)[0]!));
  },
  "architecture": (tree, { name }) => {
    return rowsOf(tree.text("docs/architecture.md"), "Where is …?").some((row) =>
      row.includes(`src/${folderOf(name)}/`)
    );
  },
  "change log": (tree, { called }) => called.test(tree.text("CHANGELOG.md")),
  "permission flags": (tree, { called }) => {
    return rowsOf(tree.text("docs/typescript.md"), "Permissions of Deno").some((row) => called.test(row));
  },
  "store suite": (tree, { name }) => suitesOf(tree, name).length > 0,
  "capabilities": (tree, { name }) => {
    const [, list = ""] = tree.text("src/contract/store.ts").match(/type Capability =([^;]+);/) ?? [];
    const all = Array.from(list.matchAll(/"\w+"/g), ([capability]) => capability);
    assert(all.length > 0, "the capabilities were found");
    const suites = suitesOf(tree, name);
    // Without a suite there is one thing to be said, not two.
    return suites.length === 0 || suites.some((text) => all.every((capability) => text.includes(capability)));
  },
  "place": (tree, store) => QUESTIONS.every((harness) => isTestedBy(tree, store, `tests/${harness}`)),
  "fault run": (tree, store) => {
    // The locks of the guarded transactions are not what is tested there.
    const files = tree.files("tests/faults/run/").filter((path) => !/(_test|guarded)\.ts$/.test(path));
    return files.some((path) => importsOf(tree, path).some((target) => belongsTo(target, store)));
  },
  "mutants": (tree, { name }) => {
    const sources = tree.text("tools/mutants/targets.ts").matchAll(/source:\s*\/(.+)\/,$/gm);
    const targets = Array.from(sources, ([, source]) => new RegExp(source!));
    return tree.files(`src/${folderOf(name)}/`).some((path) => targets.some((target) => target.test(path)));
  },
  "benchmark": (tree, store) => reaches(tree, ["bench/main.ts"], store, /^(bench|tests\/support)\//),
  "size": (tree, { name }) => tree.text("tests/tools/size.ts").includes(`"src/${folderOf(name)}/mod.ts"`),
  "loads": (tree, { name }) => tree.text("tests/loads_test.ts").includes(`"${folderOf(name)}/mod.ts"`),
  "types": (tree, { specifier }) => tree.text("tests/runtimes/types/program.ts").includes(`from "${specifier}"`),
  "import map": (tree, { name, specifier }) => {
    const { imports } = JSON.parse(tree.text("tests/tools/offline/import_map.json"));
    return imports[specifier] === `../../../src/${folderOf(name)}/mod.ts`;
  },
  "URL": (tree, store) => {
    const urls = rowsOf(tree.text("docs/command_line.md"), "The store");
    const isDescribed = urls.some((row) => row.includes(`(stores/${store.name}.md`));
    return isDescribed && reaches(tree, ["packages/cli/src/schemes/registry.ts"], store, /^packages\/cli\//);
  },
  "doctor": (tree, { name, called }) => {
    const codes = rowsOf(tree.text("docs/command_line.md"), "Verbs").filter((row) =>
      called.test(cellsOf(row)[2] ?? "")
    );
    return codes.length > 0 && tree.text(`packages/cli/src/doctor/${name}.ts`) !== "";
  },
  "mistake": (tree, { specifier }) => {
    return tree.text("src/internal/mistaken_target.ts").replace(/^const EXAMPLES =[^;]+;/m, "").includes(specifier);
  },
};

/** Why a store lacks something. */
type Reasons = Readonly<Record<string, Readonly<Record<string, string>>>>;

const REASONS: Reasons = {
  memory: {
    "architecture": "Its rules are those of `src/rules/`, which are listed.",
    "mutants": "For each behaviour of the suite `packages/testing/tests/testing_test.ts` plants a fault in it by hand.",
    "fault run": "It ends with its process.",
    "URL": "No other process can reach it.",
    "doctor": "No other process can reach it.",
    "mistake": "It has no client that could be passed instead.",
  },
  redis: {
    "mistake": "`acquire` takes its client as it is.",
  },
  "deno_kv": {
    "fault run": "A local file serves one process, which a test of its own kills.",
    "URL": "A local file serves one process, so that another one cannot look into it.",
    "doctor": "A local file serves one process, so that another one cannot look into it.",
  },
  "durable_object": {
    "capabilities": "Objects cannot be listed, so that there is no query().",
    "fault run": "Its faults are evictions and restarts, which the row `objects` of the tests in other runtimes does.",
    "benchmark": "In workerd on one machine nothing is measured that holds on the network of Cloudflare.",
    "URL": "Objects cannot be reached from outside of Workers.",
    "doctor": "Objects cannot be reached from outside of Workers.",
  },
  cas: {
    "choosing a store": "It makes stores; the table has the one on memcached.",
    "URL": "A backend is code, which no URL can name.",
    "doctor": "A backend is code, which no URL can name.",
  },
};

/** Returns the folder of a store in src and tests: that of `cas()` is the engine. */
function folderOf(name: string): string {
  return name === "cas" ? "engine" : `stores/${name}`;
}

function pageOf(name: string): string {
  return `docs/stores/${name}.md`;
}

function isExported(tree: Tree, { name, specifier }: StoreFolder): boolean {
  const { exports, publish } = JSON.parse(tree.text("deno.json"));
  const isPacked = !publish.exclude.some((path: string) =>
    path.startsWith(`src/${folderOf(name)}`) && !path.includes("*")
  );
  return isPacked && exports[specifier.replace("@holdfast/lock", ".")] === `./src/${folderOf(name)}/mod.ts`;
}

/** Returns the rows of the tables under a heading. */
function rowsOf(text: string, heading: string): string[] {
  const [section = ""] = text.split(/^## /m).filter((section) => section.startsWith(`${heading}\n`));
  return section.split("\n").filter((line) => line.startsWith("|"));
}

function cellsOf(row: string): string[] {
  return row.split("|").slice(1).map((cell) => cell.trim());
}

/** Returns the texts of the tests of a store that run the store suite. */
function suitesOf(tree: Tree, name: string): string[] {
  const tests = tree.files(`tests/${folderOf(name)}/`).filter((path) => path.endsWith("_test.ts"));
  return tests.map((path) => tree.text(path)).filter((text) => text.includes("storeSuite("));
}

/** Whether a test uses a harness, and a store with it. */
function isTestedBy(tree: Tree, store: StoreFolder, harness: string): boolean {
  const tests = tree.files("tests/").filter((path) => path.endsWith("_test.ts"));
  return tests.some((test) => {
    const imported = importsOf(tree, test);
    if (!imported.includes(harness)) return false;
    return imported.some((target) => belongsTo(target, store)) ||
      reaches(tree, imported.filter((target) => target !== harness), store, /^tests\//);
  });
}

/** Whether files of some rooms, or what they import of these rooms, import a store. */
function reaches(tree: Tree, files: readonly string[], store: StoreFolder, rooms: RegExp): boolean {
  const seen = new Set<string>();
  const visit = (path: string): boolean => {
    if (seen.has(path) || !rooms.test(path)) return false;
    seen.add(path);
    const imported = importsOf(tree, path);
    return imported.some((target) => belongsTo(target, store)) || imported.some(visit);
  };
  return files.some(visit);
}

/** Whether what is imported is a store or a file of it. */
function belongsTo(target: string, { name, specifier }: StoreFolder): boolean {
  return target === specifier || target.startsWith(`src/${folderOf(name)}/`);
}

const IMPORTS = /(?:^(?:import|export)\s+(?!type\b)[^;"]*from\s+|\bimport\()"([^"]+)"/gm;

/** Returns what a file imports, but for types: paths and specifiers. */
function importsOf(tree: Tree, path: string): string[] {
  return Array.from(tree.text(path).matchAll(IMPORTS), ([, target = ""]) => {
    return target.startsWith(".") ? new URL(target, `file:///${path}`).pathname.slice(1) : target;
  });
}

function storesOf(tree: Tree): StoreFolder[] {
  const names = new Set(tree.files("src/stores/").map((path) => path.split("/")[2]!));
  return ["cas", ...names].sort().map((name) => ({
    name,
    specifier: `@holdfast/lock/${name.replaceAll("_", "-")}`,
    called: new RegExp(`\\b${name.replaceAll("_", "[ _-]")}`, "i"),
  }));
}

/** Returns what stores lack without a reason, and the reasons for what they do not lack. */
function judge(tree: Tree, reasons: Reasons): string[] {
  const stores = storesOf(tree);
  const lacking = stores.flatMap((store) => {
    return Object.entries(ITEMS).filter(([, check]) => !check(tree, store)).map(([item]) => `${store.name}: ${item}`);
  });
  const explained = Object.entries(reasons).flatMap(([name, items]) =>
    Object.keys(items).map((item) => `${name}: ${item}`)
  );
  return [
    ...lacking.filter((lack) => !explained.includes(lack)).map((lack) => `${lack} is lacking`),
    ...explained.filter((lack) => !lacking.includes(lack)).map((lack) => `${lack} has a reason, and is not lacking`),
  ];
}

/** The repository as it is. Each file is read once. */
class Repository implements Tree {
  readonly #paths = ["docs/", "src/", "packages/", "tests/", "bench/", "tools/"].flatMap((folder) =>
    sourceFiles(folder, "")
  );
  readonly #texts = new Map<string, string>();

  files(folder: string): string[] {
    return this.#paths.filter((path) => path.startsWith(folder));
  }

  text(path: string): string {
    const isThere = !path.includes("/") || this.#paths.includes(path);
    const text = this.#texts.get(path) ?? (isThere ? textOf(path) : "");
    this.#texts.set(path, text);
    return text;
  }
}

const REPOSITORY = new Repository();

/** Returns the repository, with other texts in place of some files. */
function treeWith(changed: Readonly<Record<string, string>>): Tree {
  return {
    files: (folder) => {
      const added = Object.keys(changed).filter((path) => path.startsWith(folder));
      return [...new Set([...REPOSITORY.files(folder), ...added])].filter((path) => changed[path] !== "");
    },
    text: (path) => changed[path] ?? REPOSITORY.text(path),
  };
}

/** What a store lacks when a text is replaced everywhere in a file, or when there is no such file. */
const PLANTED: Readonly<Record<string, readonly [store: string, path: string, text?: string]>> = {
  "entry point": ["sqlite", "deno.json", "./sqlite"],
  "module docs": ["sqlite", "src/stores/sqlite/mod.ts", "@example"],
  "page": ["sqlite", "docs/stores/sqlite.md", "## Rights\n"],
  "choosing a store": ["sqlite", "docs/choosing_a_store.md", "(stores/sqlite.md)"],
  "guarantees": ["sqlite", "docs/guarantees.md", "[SQLite](stores/sqlite.md)"],
  "architecture": ["sqlite", "docs/architecture.md", "src/stores/sqlite/"],
  "change log": ["sqlite", "CHANGELOG.md", "SQLite"],
  "permission flags": ["sqlite", "docs/typescript.md", "SQLite"],
  "store suite": ["sqlite", "tests/stores/sqlite/store_test.ts"],
  "capabilities": ["sqlite", "tests/stores/sqlite/store_test.ts", '"runs"'],
  "place": ["sqlite", "tests/places/embedded.ts", "@holdfast/lock/sqlite"],
  "mutants": ["sqlite", "tools/mutants/targets.ts", "stores\\/sqlite"],
  "size": ["sqlite", "tests/tools/size.ts", "src/stores/sqlite/mod.ts"],
  "loads": ["sqlite", "tests/loads_test.ts", "stores/sqlite/mod.ts"],
  "types": ["sqlite", "tests/runtimes/types/program.ts", "@holdfast/lock/sqlite"],
  "import map": ["sqlite", "tests/tools/offline/import_map.json", "@holdfast/lock/sqlite"],
  "URL": ["sqlite", "packages/cli/src/schemes/registry.ts", "./sqlite.ts"],
  "doctor": ["sqlite", "packages/cli/src/doctor/sqlite.ts"],
  "mistake": ["sqlite", "src/internal/mistaken_target.ts", "@holdfast/lock/sqlite"],
};

Deno.test("each folder of src/stores/ is a full citizen, or has a reason for what it lacks", () => {
  assertEquals(judge(REPOSITORY, REASONS), []);
  const texts = Object.values(REASONS).flatMap((items) => Object.values(items));
  assertEquals(texts.filter((text) => !/^[A-Z`][^.]*(\.\w[^.]*)*\.$/.test(text)), []);
});

Deno.test("CONTRIBUTING.md lists what makes a full citizen", () => {
  const [section = ""] = textOf("CONTRIBUTING.md").split(/^## /m).filter((text) => text.startsWith("A full cit"));
  const listed = Array.from(section.matchAll(/^- \*\*(.+?)\*\*:/gm), ([, item]) => item!);
  assertEquals(listed, Object.keys(ITEMS));
});

for (const [item, [store, path, text]] of Object.entries(PLANTED)) {
  Deno.test(`judge() finds a store without: ${item}`, () => {
    const changed = text === undefined ? "" : textOf(path).replaceAll(text, "gone");
    assertEquals(judge(treeWith({ [path]: changed }), REASONS), [`${store}: ${item} is lacking`]);
  });
}

/** The folders of the programs that have several stores. */
const PROGRAMS = { "benchmark": "bench/", "fault run": "tests/faults/run/" };

for (const [item, folder] of Object.entries(PROGRAMS)) {
  Deno.test(`judge() finds a store without: ${item}`, () => {
    const files = REPOSITORY.files(folder).filter((path) => !path.endsWith("_test.ts"));
    const found = judge(treeWith(Object.fromEntries(files.map((path) => [path, ""]))), REASONS);
    assertEquals(found.filter((each) => each.startsWith("redis: ")), [`redis: ${item} is lacking`]);
  });
}

Deno.test("judge() has a fault planted for each item", () => {
  assertEquals([...Object.keys(PLANTED), ...Object.keys(PROGRAMS)].sort(), Object.keys(ITEMS).sort());
});

Deno.test("judge() finds that a new folder lacks all but what needs nothing of its own", () => {
  const found = judge(treeWith({ "src/stores/new_store/store.ts": "export {};" }), REASONS);
  assertEquals(
    found,
    Object.keys(ITEMS).filter((item) => item !== "capabilities").map((item) => {
      return `new_store: ${item} is lacking`;
    }),
  );
});

Deno.test("judge() finds a reason for what is not lacking, and for no store", () => {
  const reasons = { ...REASONS, sqlite: { page: "None." }, consul: { page: "None." } };
  assertEquals(judge(REPOSITORY, reasons), [
    "sqlite: page has a reason, and is not lacking",
    "consul: page has a reason, and is not lacking",
  ]);
});
