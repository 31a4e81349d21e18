// Deno only: it looks at the sources.
import { assert, assertEquals } from "@std/assert";
import ts from "typescript";
import { MEMBERS } from "./support/test_files.ts";
import { PACKAGES } from "./tools/packages.ts";

const root = new URL("../", import.meta.url);

/** What one file of src imports: a path of src or a specifier, and whether only types come from there. */
interface Import {
  readonly from: string;
  readonly to: string;
  readonly types: boolean;
}

/** Where a file belongs: a folder of src, that of one store, or a package beside the lock. */
function room(path: string): string {
  const [member] = /^packages\/\w+/.exec(path) ?? [];
  if (member !== undefined) {
    return path.startsWith("packages/cli/src/dashboard/") ? "packages/cli/src/dashboard" : member;
  }
  const [, first = "", second = ""] = path.split("/");
  return first === "stores" ? `${first}/${second}` : first;
}

function imports(path: string, text = Deno.readTextFileSync(new URL(path, root))): Import[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const found: Import[] = [];
  const add = (specifier: string, types: boolean) => {
    const to = specifier.startsWith(".")
      ? new URL(specifier, new URL(path, root)).href.slice(root.href.length)
      : specifier;
    found.push({ from: path, to, types });
  };
  const visit = (node: ts.Node) => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      add(node.moduleSpecifier.text, node.importClause?.isTypeOnly ?? false);
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      if (ts.isStringLiteral(node.moduleSpecifier)) add(node.moduleSpecifier.text, node.isTypeOnly);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [target] = node.arguments;
      add(target !== undefined && ts.isStringLiteral(target) ? target.text : "what is computed", false);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[^]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

function files(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, root))].flatMap(({ name, isDirectory }) =>
    isDirectory ? files(`${folder}${name}/`) : name.endsWith(".ts") ? [`${folder}${name}`] : []
  ).sort();
}

/** The sources of the packages beside the lock. */
const BESIDE = MEMBERS.flatMap((name) => files(`packages/${name}/`).filter((path) => !path.includes("/tests/")));

/** The sources of all packages. */
const SOURCES = [...files("src/"), ...BESIDE];

/** What anybody can import of the lock. */
const PUBLIC = Object.keys(PACKAGES[0]!.exports).map((path) => `@holdfast/lock${path.slice(1)}`);

/** The imports of src that cross from one room into another, but for those that are allowed, as `from -> to`. */
function offenders(rooms: (room: string) => boolean, allowed: (arrow: Import) => boolean): string[] {
  return SOURCES.filter((file) => rooms(room(file))).flatMap((path) => imports(path))
    .filter((arrow) => room(arrow.to) !== room(arrow.from) && !allowed(arrow))
    .map(({ from, to, types }) => `${from} -> ${types ? "type " : ""}${to}`);
}

const isSqlite = ({ from, to, types }: Import) => room(from) === "stores/sqlite" && types && to === "node:sqlite";

/** The sockets of the runtime are loaded when a store connects. */
const isSocket = ({ from, to, types }: Import) => room(from) === "stores/zookeeper" && types && to === "node:net";

/** The command line is a program: it runs where there is `node:`, and loads a client library when a URL asks for it. */
const isProgram = ({ from, to }: Import) =>
  room(from) === "packages/cli" &&
  (to.startsWith("node:") || from === "packages/cli/src/schemes/client_library.ts" && to === "what is computed");

Deno.test("src/ has no dependency", () => {
  assertEquals(
    files("src/").flatMap((path) => imports(path)).filter(({ to, types }) => !to.startsWith("src/") && !types),
    [],
  );
});

/** What a package beside the lock imports, but for its own files and the public entry points of the lock. */
function intrusions(path: string, text?: string): string[] {
  const [member] = /^packages\/\w+\//.exec(path) ?? [];
  return imports(path, text).filter((arrow) => {
    return !arrow.to.startsWith(member!) && !PUBLIC.includes(arrow.to) && !isProgram(arrow);
  }).map(({ from, to }) => `${from} -> ${to}`);
}

Deno.test("packages/ import only their own files, and what the lock exports", () => {
  assertEquals(BESIDE.flatMap((path) => intrusions(path)), []);
});

for (
  const [what, text] of Object.entries({
    "a private file of the lock": `import { SystemClock } from "../../../src/time/clock.ts";`,
    "the type of a private file": `import type { Clock } from "../../../src/time/clock.ts";`,
    "an entry point by its path": `import { acquire } from "../../../mod.ts";`,
    "a path that is not exported": `import { SystemClock } from "@holdfast/lock/internal";`,
    "a file of another package": `import { clock } from "../../testing/src/expect.ts";`,
    "another package": `import { storeSuite } from "@holdfast/testing";`,
    "a module of Node": `import { readFile } from "node:fs/promises";`,
    "a library": `const { trace } = await import("@opentelemetry/api");`,
  })
) {
  Deno.test(`intrusions() finds that a package imports ${what}`, () => {
    assertEquals(intrusions("packages/otel/src/otel.ts", text).length, 1);
  });
}

Deno.test("packages/cli/src/dashboard/ imports what it shares with the command line only", () => {
  const shared = /^packages\/cli\/src\/(display|listing|time)\//;
  const inside = (arrow: Import) => arrow.to.startsWith("@holdfast/lock") || shared.test(arrow.to);
  assertEquals(offenders((room) => room === "packages/cli/src/dashboard", inside), []);
});

Deno.test("src/ has no circular import, that of types included", () => {
  const arrows = new Map(SOURCES.map((file) => [file, imports(file)]));
  const done = new Set<string>();
  const visit = (file: string, path: string[]) => {
    assert(!path.includes(file), [...path, file].join(" -> "));
    if (done.has(file)) return;
    for (const { to } of arrows.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of arrows.keys()) visit(file, []);
});

/** The folders of src, from below, each with the folders that it may import. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  time: [],
  contract: ["time", "internal"],
  internal: ["time", "contract"],
  rules: ["contract", "internal"],
  handoff: ["time", "contract", "internal", "rules"],
  engine: ["time", "contract", "internal", "rules", "handoff"],
  stores: ["time", "contract", "internal", "rules", "handoff", "engine"],
  lock: ["time", "contract", "internal"],
  redlock: ["time", "contract", "internal", "handoff"],
  cohort: ["time", "contract", "internal", "handoff"],
  guard: ["contract", "internal"],
  "web_locks": ["time", "contract", "internal", "lock"],
};

/** Stores with rules of their own. The others are built on the engine. */
const WITHOUT_ENGINE = ["stores/memory", "stores/redis", "stores/sqlite"];

const ALLOWED = [
  "src/cohort/cohort.ts -> type src/stores/redis/clients/client.ts",
  "src/cohort/cohort.ts -> src/stores/redis/mod.ts",
  "src/cohort/cohort.ts -> type src/lock/target.ts",
  "src/cohort/cohort.ts -> src/redlock/mod.ts",
  "src/guard/guard.ts -> type src/lock/lock.ts",
  // Loaded when a client comes.
  "src/lock/target.ts -> type src/stores/redis/clients/client.ts",
  "src/lock/target.ts -> src/handoff/handoff_store.ts",
  "src/lock/target.ts -> src/stores/redis/mod.ts",
  "src/lock/target.ts -> src/redlock/mod.ts",
  "src/redlock/store.ts -> type src/stores/redis/clients/client.ts",
  "src/redlock/store.ts -> src/stores/redis/mod.ts",
];

/** Returns the imports that lead up, or aside. */
function upward(arrows: readonly Import[]): string[] {
  const isBelow = ({ from, to }: Import) => {
    const folder = room(from);
    const below = LAYERS[folder.split("/")[0]!] ?? [];
    return below.includes(room(to)) && !(room(to) === "engine" && WITHOUT_ENGINE.includes(folder));
  };
  return arrows.filter((arrow) => room(arrow.to) !== room(arrow.from) && !isSqlite(arrow) && !isSocket(arrow))
    .filter((arrow) => !isBelow(arrow)).map(({ from, to, types }) => `${from} -> ${types ? "type " : ""}${to}`);
}

Deno.test("src/ imports from below only, but for what a client needs", () => {
  assertEquals(upward(files("src/").flatMap((path) => imports(path))), ALLOWED);
  const target = withoutComments(Deno.readTextFileSync(new URL("src/lock/target.ts", root)));
  for (const store of ["stores/redis", "redlock"]) {
    assert(target.includes(`await import("../${store}/mod.ts")`), "loaded only when a client comes");
  }
});

for (
  const [path, to] of [
    ["src/time/clock.ts", "../contract/store.ts"],
    ["src/rules/occupancy.ts", "../handoff/grant.ts"],
    ["src/engine/lock.ts", "../lock/lease.ts"],
    ["src/stores/etcd/store.ts", "../postgres/mod.ts"],
    ["src/stores/sqlite/store.ts", "../../engine/document.ts"],
    ["src/handoff/grant.ts", "../lock/lease.ts"],
  ] as const
) {
  Deno.test(`upward() finds that ${path} imports ${to}`, () => {
    assertEquals(upward(imports(path, `import { one } from "${to}";`)).length, 1);
  });
}

/** The clocks of the packages beside the lock: each has one, as that of the lock is private. */
const CLOCKS = ["cli/src/time", "compat/src", "otel/src", "testing/src"].map((folder) => `packages/${folder}/clock.ts`);

/**
 * Whether a file is the only one of src whose code matches, apart from clocks of other packages, and from the text of
 * what runs in browsers.
 */
function assertOnly(path: string, pattern: RegExp): void {
  const matching = SOURCES.filter((file) =>
    !file.startsWith("packages/cli/src/dashboard/assets/") && !CLOCKS.includes(file) &&
    pattern.test(withoutComments(Deno.readTextFileSync(new URL(file, root))))
  );
  assertEquals(matching, [path]);
}

Deno.test("src/stores/, src/engine/, src/redlock/ and src/cohort/ have the same base files", () => {
  const stores = [...Deno.readDirSync(new URL("src/stores/", root))].map(({ name }) => `stores/${name}`);
  for (const folder of [...stores, "engine", "redlock", "cohort"]) {
    const found = files(`src/${folder}/`);
    // The store of a cohort is in src/handoff, since others hand on as well.
    const store = folder === "cohort" ? "cohort.ts" : "store.ts";
    for (const file of ["mod.ts", "options.ts", store]) {
      assert(found.includes(`src/${folder}/${file}`), `src/${folder} has no ${file}`);
    }
  }
});

Deno.test("time/clock.ts and the clocks of other packages are the only readers of time", () => {
  assertOnly("src/time/clock.ts", /\b(Date\.now|performance\.now|new Date)\b/);
});

Deno.test("time/timers.ts is the only maker of timers", () => {
  assertOnly("src/time/timers.ts", /\b(setTimeout|setInterval|AbortSignal\.timeout)\b/);
});

Deno.test("src/ has no syntax that Node 20 cannot parse once its types are stripped", () => {
  for (const file of SOURCES) {
    const source = withoutComments(Deno.readTextFileSync(new URL(file, root)));
    assert(!/\b(await )?using [a-z]/.test(source), `${file} uses "using"`);
    assert(!/^\s*(export )?(const )?(enum|namespace) /m.test(source), `${file} has syntax that is not erased`);
    assert(
      !/constructor\(([^)]*,)?\s*(private|public|protected|readonly) /.test(source),
      `${file} has parameter properties`,
    );
  }
});

Deno.test("src/ uses no builtin that Node 20 lacks", () => {
  const younger = [
    ...["Promise\\.(withResolvers|try)", "Array\\.fromAsync", "(Object|Map)\\.groupBy", "Iterator\\.", "Temporal\\."],
    ...["(Async)?DisposableStack", "new (SuppressedError|WebSocket)", "RegExp\\.escape", "Error\\.isError"],
    "\\w\\.(union|intersection|difference|symmetricDifference|isSubsetOf|isSupersetOf|isDisjointFrom)\\(",
  ];
  for (const file of SOURCES) {
    const found = new RegExp(`\\b(${younger.join("|")})`).exec(
      withoutComments(Deno.readTextFileSync(new URL(file, root))),
    );
    assertEquals(found?.[0], undefined, file);
  }
});

/** Returns the modules that an import of these files loads at once, each with its size in bytes. */
async function loadedBy(...entries: string[]): Promise<Map<string, number>> {
  const loaded = new Map<string, number>();
  for (const entry of entries) {
    const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", entry], cwd: root }).output();
    interface Graph {
      modules: {
        specifier: string;
        size: number;
        dependencies?: { code?: { specifier: string }; isDynamic?: boolean }[];
      }[];
    }
    const graph: Graph = JSON.parse(new TextDecoder().decode(stdout));
    const load = (specifier: string) => {
      const path = specifier.replace(root.href, "");
      const module = graph.modules.find((module) => module.specifier === specifier);
      if (loaded.has(path) || module === undefined) return;
      loaded.set(path, module.size);
      for (const { code, isDynamic } of module.dependencies ?? []) {
        if (code !== undefined && !isDynamic) load(code.specifier);
      }
    };
    load(new URL(entry, root).href);
  }
  return loaded;
}

Deno.test("importing the package loads neither SQLite nor a Redis client", async () => {
  const paths = [...(await loadedBy("mod.ts")).keys()];
  assert(paths.includes("src/lock/acquire.ts"), "the graph was read");
  assertEquals(paths.filter((path) => /stores|sqlite|redis/.test(path)), []);
});

Deno.test("acquire() on a Redis client loads 90 modules at most", async () => {
  const loaded = await loadedBy("mod.ts", "src/stores/redis/mod.ts");
  const bytes = [...loaded.values()].reduce((sum, size) => sum + size, 0);
  assert(loaded.size <= 90, `${loaded.size} modules`);
  assert(bytes <= 460_000, `${bytes} bytes`);
});
