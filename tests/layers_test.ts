import { assert, assertEquals } from "@std/assert";

const root = new URL("../", import.meta.url);

/** What each file of src imports, as paths of src; `type:` stands before what is only a type. */
function imports(path: string): string[] {
  const source = withoutComments(Deno.readTextFileSync(new URL(path, root)));
  const found = source.matchAll(/\b(?:import|export)\b([^;"]*?)\bfrom\s+"([^"]+)"|\bimport\(\s*"([^"]+)"/g);
  return [...found].map(([, what = "", from, dynamic]) => {
    const specifier = from ?? dynamic ?? "";
    const target = specifier.startsWith(".")
      ? new URL(specifier, new URL(path, root)).href.slice(root.href.length)
      : specifier;
    return `${/^\s*type\b/.test(what) ? "type:" : ""}${target}`;
  });
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[^]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

function files(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, root))].flatMap(({ name, isDirectory }) =>
    isDirectory ? files(`${folder}${name}/`) : [`${folder}${name}`]
  ).sort();
}

/** The folder or file of the store that a path belongs to, if it does. */
function technology(path: string): string | undefined {
  return /(?:^|:)src\/stores\/_?([^/._]+)/.exec(path)?.[1];
}

Deno.test("src/ has no dependency", () => {
  for (const file of files("src/")) {
    for (const target of imports(file)) {
      assert(target.startsWith("src/") || target.startsWith("type:"), `${file} imports ${target}`);
    }
  }
});

Deno.test("src/ of the core imports no store, but for the one that resolve() loads for a client", () => {
  const arrows = files("src/").filter((file) => technology(file) === undefined)
    .flatMap((file) => imports(file).filter(technology).map((target) => `${file} -> ${target}`));
  assertEquals(arrows, [
    "src/resolve.ts -> type:src/stores/redis/client.ts",
    "src/resolve.ts -> src/stores/redis/mod.ts",
    "src/resolve.ts -> src/stores/redlock/mod.ts",
  ]);
  const resolve = withoutComments(Deno.readTextFileSync(new URL("src/resolve.ts", root)));
  for (const store of ["redis", "redlock"]) {
    assert(resolve.includes(`await import("./stores/${store}/mod.ts")`), "loaded only when a client comes");
  }
});

Deno.test("src/stores/ imports the contract, errors, observer and underscore files only", () => {
  const allowed = /^(type:)?src\/(store|errors|observer|_[a-z_]+)\.ts$/;
  for (const file of files("src/stores/")) {
    for (const target of imports(file)) {
      // A quorum is made of such stores; and it is made from their clients.
      const own = technology(target) === technology(file) ||
        file === "src/stores/redlock/mod.ts" && technology(target) === "redis";
      assert(own || allowed.test(target) || target === "type:node:sqlite", `${file} imports ${target}`);
    }
  }
});

Deno.test("_clock.ts is the only reader of time and maker of timers", () => {
  for (const file of files("src/").filter((file) => file !== "src/_clock.ts")) {
    const found = /\b(setTimeout|setInterval|Date\.now|performance\.now|new Date|AbortSignal\.timeout)\b/
      .exec(withoutComments(Deno.readTextFileSync(new URL(file, root))));
    assertEquals(found?.[0], undefined, file);
  }
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
