// Deno only: it looks at the sources.
import { assert, assertEquals } from "@std/assert";
import ts from "typescript";

const root = new URL("../", import.meta.url);

/** What one file of src imports: a path of src or a specifier, and whether only types come from there. */
interface Import {
  readonly from: string;
  readonly to: string;
  readonly types: boolean;
}

/** Where a file belongs: the core, `internal`, or a folder that holds one store, wrapper or entry point. */
function room(path: string): string {
  const [, first = "", second = ""] = path.split("/");
  if (first.endsWith(".ts")) return "core";
  return first === "stores" || first === "composed" ? `${first}/${second}` : first;
}

function imports(path: string): Import[] {
  const source = ts.createSourceFile(path, Deno.readTextFileSync(new URL(path, root)), ts.ScriptTarget.Latest);
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

/** The imports of src that cross from one room into another, but for those that are allowed, as `from -> to`. */
function offenders(rooms: (room: string) => boolean, allowed: (arrow: Import) => boolean): string[] {
  return files("src/").filter((file) => rooms(room(file))).flatMap(imports)
    .filter((arrow) => room(arrow.to) !== room(arrow.from) && !allowed(arrow))
    .map(({ from, to, types }) => `${from} -> ${types ? "type " : ""}${to}`);
}

/** The contract, and what everybody may use. */
const shared = ({ to, types }: Import) =>
  room(to) === "internal" || ["src/store.ts", "src/errors.ts", "src/events.ts"].includes(to) ||
  types && to === "src/quorum_node.ts";

const isSqlite = ({ from, to, types }: Import) => room(from) === "stores/sqlite" && types && to === "node:sqlite";

/** The command line is a program: it runs where there is `node:`, and loads a client library when a URL asks for it. */
const isProgram = ({ from, to }: Import) =>
  room(from) === "cli" &&
  (to.startsWith("node:") || from === "src/cli/schemes/client_library.ts" && to === "what is computed");

Deno.test("src/ has no dependency", () => {
  const outside = files("src/").flatMap(imports).filter((arrow) => !arrow.to.startsWith("src/") && !arrow.types);
  assertEquals(outside.filter((arrow) => !isProgram(arrow)), []);
});

Deno.test("src/cli/ is imported by nothing, and imports no private code of others", () => {
  const into = files("src/").flatMap(imports).filter(({ from, to }) => room(to) === "cli" && room(from) !== "cli");
  assertEquals(into, []);
  const isPublic = ({ to }: Import) => /\/mod\.ts$/.test(to) || /^(core|internal)$/.test(room(to));
  assertEquals(offenders((room) => room === "cli", (arrow) => isPublic(arrow) || isProgram(arrow)), [
    // What doctor needs of the store's own code.
    "src/cli/doctor/redis.ts -> type src/stores/redis/clients/client.ts",
    "src/cli/doctor/redis.ts -> src/stores/redis/doctor_access.ts",
    "src/cli/doctor/redis_wakeups.ts -> src/stores/redis/doctor_access.ts",
    "src/cli/doctor/upstash.ts -> src/stores/redis/doctor_access.ts",
    "src/cli/doctor/zookeeper.ts -> src/stores/zookeeper/node_name.ts",
  ]);
});

Deno.test("src/ has no circular import, that of types included", () => {
  const arrows = new Map(files("src/").map((file) => [file, imports(file)]));
  const done = new Set<string>();
  const visit = (file: string, path: string[]) => {
    assert(!path.includes(file), [...path, file].join(" -> "));
    if (done.has(file)) return;
    for (const { to } of arrows.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of arrows.keys()) visit(file, []);
});

Deno.test("src/*.ts imports no store, but for the ones that target.ts loads for a client", () => {
  assertEquals(offenders((room) => room === "core", ({ to }) => room(to) === "internal"), [
    "src/target.ts -> type src/stores/redis/clients/client.ts",
    "src/target.ts -> src/stores/redis/mod.ts",
    "src/target.ts -> src/composed/redlock/mod.ts",
  ]);
  const target = withoutComments(Deno.readTextFileSync(new URL("src/target.ts", root)));
  for (const store of ["stores/redis", "composed/redlock"]) {
    assert(target.includes(`await import("./${store}/mod.ts")`), "loaded only when a client comes");
  }
});

Deno.test("src/internal/ imports the contract, errors and events only", () => {
  assertEquals(offenders((room) => room === "internal", shared), []);
});

/** Backends, which other folders of stores are built on. */
const isEngine = ({ to }: Import) => room(to) === "stores/cas";

Deno.test("src/stores/ imports the contract, errors, events, internal/ and cas/ only", () => {
  const allowed = (arrow: Import) => shared(arrow) || isSqlite(arrow) || isEngine(arrow);
  assertEquals(offenders((room) => room.startsWith("stores/"), allowed), []);
  const withoutEngine = (room: string) => ["stores/memory", "stores/redis", "stores/sqlite"].includes(room);
  assertEquals(offenders(withoutEngine, (arrow) => !isEngine(arrow)), []);
});

Deno.test("src/composed/ imports what stores do, and the stores that it makes of clients", () => {
  assertEquals(offenders((room) => room.startsWith("composed/"), shared), [
    "src/composed/cohort/cohort.ts -> type src/stores/redis/clients/client.ts",
    "src/composed/cohort/cohort.ts -> src/stores/redis/mod.ts",
    "src/composed/cohort/cohort.ts -> type src/target.ts",
    "src/composed/cohort/cohort.ts -> src/composed/redlock/mod.ts",
    "src/composed/redlock/store.ts -> type src/stores/redis/clients/client.ts",
    "src/composed/redlock/store.ts -> src/stores/redis/mod.ts",
  ]);
});

Deno.test("src/otel/ imports the contract, errors, events and internal/ only", () => {
  assertEquals(offenders((room) => room === "otel", shared), []);
});

Deno.test("src/compat/ imports the core, internal/, and entry points of Redis stores", () => {
  const stores = ["src/stores/redis/mod.ts", "src/composed/redlock/mod.ts"];
  const allowed = ({ to }: Import) => ["core", "internal"].includes(room(to)) || stores.includes(to);
  assertEquals(offenders((room) => room === "compat", allowed), []);
});

Deno.test("src/guard/ imports errors, internal/ and the type of a lock only", () => {
  const allowed = (arrow: Import) => shared(arrow) || arrow.types && arrow.to === "src/lock.ts";
  assertEquals(offenders((room) => room === "guard", allowed), []);
});

/** Whether a file is the only one of src whose code matches, apart from the text of what runs in browsers. */
function assertOnly(path: string, pattern: RegExp): void {
  const matching = files("src/").filter((file) =>
    !file.startsWith("src/dashboard/assets/") &&
    pattern.test(withoutComments(Deno.readTextFileSync(new URL(file, root))))
  );
  assertEquals(matching, [path]);
}

Deno.test("src/dashboard/ imports the core, as a user does, and internal/ only", () => {
  const allowed = ({ to }: Import) => ["core", "internal"].includes(room(to));
  assertEquals(offenders((room) => room === "dashboard", allowed), []);
});

Deno.test("src/stores/ and src/composed/ have the same base files in every folder", () => {
  for (const folder of ["stores", "composed"]) {
    for (const { name } of Deno.readDirSync(new URL(`src/${folder}/`, root))) {
      const found = files(`src/${folder}/${name}/`);
      // The store of a cohort is in src/internal/handoff, since others hand on as well.
      const store = name === "cohort" ? "cohort.ts" : "store.ts";
      for (const file of ["mod.ts", "options.ts", store]) {
        assert(found.includes(`src/${folder}/${name}/${file}`), `src/${folder}/${name} has no ${file}`);
      }
    }
  }
});

Deno.test("internal/clock.ts is the only reader of time", () => {
  assertOnly("src/internal/time/clock.ts", /\b(Date\.now|performance\.now|new Date)\b/);
});

Deno.test("internal/timers.ts is the only maker of timers", () => {
  assertOnly("src/internal/time/timers.ts", /\b(setTimeout|setInterval|AbortSignal\.timeout)\b/);
});

Deno.test("src/ has no syntax that Node 20 cannot parse once its types are stripped", () => {
  for (const file of files("src/")) {
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
  for (const file of files("src/")) {
    const found = new RegExp(`\\b(${younger.join("|")})`).exec(
      withoutComments(Deno.readTextFileSync(new URL(file, root))),
    );
    assertEquals(found?.[0], undefined, file);
  }
});

Deno.test("importing the package loads neither SQLite nor a Redis client", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", "mod.ts"], cwd: root })
    .output();
  interface Graph {
    modules: { specifier: string; dependencies?: { code?: { specifier: string }; isDynamic?: boolean }[] }[];
  }
  const graph: Graph = JSON.parse(new TextDecoder().decode(stdout));
  const loaded = new Set<string>();
  const load = (specifier: string) => {
    if (loaded.has(specifier)) return;
    loaded.add(specifier);
    const module = graph.modules.find((module) => module.specifier === specifier);
    for (const { code, isDynamic } of module?.dependencies ?? []) {
      if (code !== undefined && !isDynamic) load(code.specifier);
    }
  };
  load(new URL("mod.ts", root).href);
  assert(loaded.has(new URL("src/acquire.ts", root).href), "the graph was read");
  const paths = [...loaded].map((specifier) => specifier.replace(root.href, ""));
  assertEquals(paths.filter((path) => /stores|sqlite|redis/.test(path)), []);
});
