// Deno only: it packs the package, and starts test runners and bundlers.
import { assert, assertEquals } from "@std/assert";
import { textOf } from "../support/test_files.ts";
import { pack } from "../tools/pack.ts";
import { command } from "./command.ts";
import { FOLDER, MODULES } from "./versions.ts";

const [NODE20, NODE22, NODE24] = ["20", "22", "24"].map((major) => `${MODULES}/node${major}/bin/node`);
const BUN = `${MODULES}/bun/bin/bun`;
const NODES = [NODE20!, NODE22!, NODE24!];

/** What Node without require() of ES modules is started with. */
const WITHOUT = "--no-experimental-require-module";

/** Where the packed packages are installed, and each tool has a folder. */
let folder: string;

Deno.test.beforeAll(async () => {
  folder = await Deno.makeTempDir({ dir: FOLDER, prefix: "tools_" });
  for (const [name, file] of await pack(folder)) {
    const installed = `${folder}/node_modules/${name}`;
    await Deno.mkdir(installed, { recursive: true });
    await command("tar", ["xzf", file, "-C", installed, "--strip-components=1"]);
  }
});

Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

/** Writes the files of a tool into a folder of their own, a package of CommonJS, and returns its path. */
async function project(name: string, files: Readonly<Record<string, string | object>>): Promise<string> {
  const path = `${folder}/${name}`;
  await Deno.mkdir(path);
  for (const [file, content] of Object.entries({ "package.json": {}, ...files })) {
    await Deno.writeTextFile(`${path}/${file}`, typeof content === "string" ? content : JSON.stringify(content));
  }
  return path;
}

/** How a test file loads the package. */
const LOADS = {
  require: `const { acquire, LockTimeoutError, tryAcquire } = require("@holdfast/lock");
const { memory } = require("@holdfast/lock/memory");`,
  import: `import { acquire, LockTimeoutError, tryAcquire } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";`,
} as const;

/** The body of a test under fake timers: a time-out, a renewed lease, and a release. */
function body(advance: string, declaration = "const"): string {
  return `
  const store = memory();
  const lock = await acquire(store, "invoice:42", { lease: 30_000 });
  const waiting = acquire(store, "invoice:42", { wait: 5_000 }).catch((error) => error);
  await ${advance}(5_000);
  if (!(await waiting instanceof LockTimeoutError)) throw new Error("the wait did not end");
  await ${advance}(60_000);
  if (!lock.held) throw new Error("the lease was not renewed");
  await lock.release();
  ${declaration} again = await tryAcquire(store, "invoice:42");
  if (again === null) throw new Error("the lock was not released");
`;
}

/** What a program replaces so that leases follow it. */
const REPLACED = `["setTimeout", "clearTimeout", "performance", "Date"]`;

const SINON = `const clock = timers.install({ toFake: ${REPLACED} });
  try {${body("clock.tickAsync")}} finally { clock.uninstall(); }`;

const JEST = `
beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());
test("a lock", async () => {${body("jest.advanceTimersByTimeAsync")}});
`;

/** Runs the tests of a folder in Jest. */
async function jest(node: string, path: string, ...flags: string[]): Promise<void> {
  await command(node, [...flags, `${MODULES}/jest/bin/jest.js`, "--no-watchman", "--runInBand"], path);
}

Deno.test("Jest loads the package by require(), in Node 20, 22 and 24", async () => {
  const path = await project("jest", { "lock.test.js": LOADS.require + JEST });
  for (const node of NODES) await jest(node, path);
});

Deno.test("Jest loads one copy of the package by require() and by import", async () => {
  const path = await project("jest_both", {
    "package.json": { jest: { transform: {}, testMatch: ["**/*.mjs"] } },
    "lock.mjs": `import { acquire } from "@holdfast/lock";
const { required } = await import("./required.cjs");
test("one copy", () => expect(required.acquire).toBe(acquire));
`,
    "required.cjs": `exports.required = require("@holdfast/lock");`,
  });
  for (const node of [NODE22!, NODE24!]) await jest(node, path, "--experimental-vm-modules");
});

/** Deno links the newest TypeScript into ts-jest, which needs an older one: that of the folder. */
const OLDER_TYPESCRIPT = `const modules = require("node:module");
const older = require.resolve("typescript");
const resolve = modules._resolveFilename;
modules._resolveFilename = (name, ...rest) => name === "typescript" ? older : resolve(name, ...rest);
`;

for (
  const [name, options] of [
    ["node10", { module: "commonjs" }],
    ["nodenext", { module: "nodenext", moduleResolution: "nodenext", resolvePackageJsonExports: true }],
  ] as const
) {
  Deno.test(`ts-jest, as NestJS sets it up, loads the package by ${name}`, async () => {
    const path = await project(`ts_jest_${name}`, {
      "package.json": {
        jest: {
          ...{ moduleFileExtensions: ["js", "json", "ts"], testRegex: ".*\\.spec\\.ts$", testEnvironment: "node" },
          transform: { "^.+\\.(t|j)s$": "ts-jest" },
        },
      },
      "tsconfig.json": {
        compilerOptions: {
          ...{ ...options, target: "ES2023", esModuleInterop: true, isolatedModules: true, declaration: true },
          ...{ experimentalDecorators: true, emitDecoratorMetadata: true, skipLibCheck: true, strictNullChecks: true },
        },
      },
      "typescript.cjs": OLDER_TYPESCRIPT,
      "lock.spec.ts": LOADS.import + JEST.replace("const again", "await using again"),
    });
    await jest(NODE20!, path, "--require=./typescript.cjs");
  });
}

Deno.test("babel-jest loads the package by import", async () => {
  const path = await project("babel_jest", {
    "babel.config.json": { plugins: ["@babel/plugin-transform-modules-commonjs"] },
    "lock.test.js": LOADS.import + JEST,
  });
  await jest(NODE22!, path);
});

Deno.test("Mocha loads the package by require(), also without require() of ES modules", async () => {
  const path = await project("mocha", {
    "lock.spec.js": `${LOADS.require}
const timers = require("@sinonjs/fake-timers");
it("takes a lock", async () => {
  ${SINON}
});
`,
  });
  await command(NODE20!, [WITHOUT, `${MODULES}/mocha/bin/mocha.js`, "lock.spec.js"], path);
  await command(NODE24!, [`${MODULES}/mocha/bin/mocha.js`, "lock.spec.js"], path);
});

Deno.test("Vitest loads the package", async () => {
  const path = await project("vitest", {
    "lock.test.js": `${LOADS.import}
import { test, vi } from "vitest";
test("a lock", async () => {
  vi.useFakeTimers({ toFake: ${REPLACED} });${body("vi.advanceTimersByTimeAsync")}});
`,
  });
  await command(NODE22!, [`${MODULES}/vitest/vitest.mjs`, "run"], path);
});

Deno.test("node:test loads the package, in Node 20 and 24", async () => {
  const path = await project("node_test", {
    "lock.test.js": `${LOADS.require}
const { mock, test } = require("node:test");
async function advance(ms) {
  for (let passed = 0; passed < ms; passed += 100) {
    mock.timers.tick(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
test("a lock", async () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  mock.method(performance, "now", () => Date.now());${body("advance")}});
`,
  });
  for (const node of [NODE20!, NODE24!]) await command(node, ["--test", "lock.test.js"], path);
});

Deno.test("the test runner of Bun loads the package", async () => {
  const path = await project("bun_test", {
    "lock.test.js": `${LOADS.import}
import { jest, test } from "bun:test";
async function advance(ms) {
  for (let passed = 0; passed < ms; passed += 100) {
    jest.advanceTimersByTime(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
test("a lock", async () => {
  jest.useFakeTimers();${body("advance")}});
`,
  });
  await command(BUN, ["test"], path);
});

Deno.test("deno test loads the package of npm", async () => {
  const path = await project("deno_test", {
    "lock_test.mjs": `${LOADS.import}
import timers from "@sinonjs/fake-timers";
Deno.test("a lock", async () => {
  ${SINON}
});
`,
  });
  await command(Deno.execPath(), [
    "test",
    "--no-check",
    "--allow-read=..",
    "--node-modules-dir=manual",
    "lock_test.mjs",
  ], path);
});

Deno.test("no process has two copies of a package, by require() and by import", async () => {
  const path = await project("both", {
    "both.cjs": `const assert = require("node:assert");
const packages = ["lock", "cli", "compat", "otel", "testing"].map((name) => "@holdfast/" + name);
const entries = packages.flatMap((name) => {
  return Object.keys(require("../node_modules/" + name + "/package.json").exports).map((entry) => name + entry.slice(1));
});
(async () => {
  let compared = 0;
  for (const name of entries.filter((name) => name !== "@holdfast/cli")) {
    const [required, imported] = [require(name), await import(name)];
    const names = (all) => Object.keys(all).filter((name) => !["__esModule", "module.exports"].includes(name)).sort();
    assert.deepEqual(names(required), names(imported), name);
    for (const each of names(required)) assert.ok(Object.is(required[each], imported[each]), name + " " + each);
    compared += names(required).length;
  }
  console.log(compared);
})();
`,
  });
  const flags = [[], [WITHOUT]] as const;
  const programs = [...NODES.flatMap((node) => flags.map((flags) => [node, ...flags])), [BUN], [
    ...[Deno.execPath(), "run", "--quiet", "-A", "--node-modules-dir=manual"],
  ]];
  const printed = await Promise.all(
    programs.map(([program, ...args]) => command(program!, [...args, "both.cjs"], path)),
  );
  assertEquals(new Set(printed).size, 1, printed.join());
  assert(Number(printed[0]) >= 40, printed[0]);
});

/** A program in TypeScript. */
const TYPED = `import { acquire } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
await using lock = await acquire(memory(), "a");
console.log("held", lock.held);
`;

for (const compiler of ["typescript", "typescript7"]) {
  Deno.test(`${compiler} compiles with what its --init writes and docs/typescript.md changes`, async () => {
    const path = await project(compiler, { "package.json": { type: "module" }, "program.ts": TYPED });
    const tsc = `${MODULES}/${compiler}/bin/tsc`;
    await command(NODE22!, [tsc, "--init"], path);
    const [, page = ""] = /^```json\n([^]*?)^```$/m.exec(textOf("docs/typescript.md")) ?? [];
    const { target, lib } = JSON.parse(page).compilerOptions;
    const written = await Deno.readTextFile(`${path}/tsconfig.json`);
    const changed = written.replace(
      `"target": "esnext"`,
      `"target": ${JSON.stringify(target)}, "lib": ${JSON.stringify(lib)}`,
    );
    assert(changed !== written, written);
    await Deno.writeTextFile(`${path}/tsconfig.json`, changed);
    await command(NODE22!, [tsc], path);
    assertEquals(await command(NODE20!, ["program.js"], path), "held true\n");
  });
}

Deno.test("tsx runs await using on Node 20 and 22 without a tsconfig", async () => {
  const path = await project("tsx", { "package.json": { type: "module" }, "program.ts": TYPED });
  for (const node of [NODE20!, NODE22!]) {
    assertEquals(await command(node, [`${MODULES}/tsx/dist/cli.mjs`, "program.ts"], path), "held true\n");
  }
});

/** A program for bundlers. It prints a line. */
const PROGRAM = `import { acquire } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
acquire(memory(), "a").then((lock) => lock.release().then(() => console.log("released")));
`;

/** The conditions of the edge runtime of Next.js, in the order in which its bundler adds them. */
const EDGE = `["edge-light", "worker", "browser", "development", "module", "import"]`;

for (
  const [name, config] of [
    ["esbuild", ""],
    [
      "Vite",
      `import { build } from "vite";
await build({ logLevel: "silent", build: { minify: false, lib: { entry: "program.mjs", formats: ["es"], fileName: () => "bundle.mjs" }, outDir: "dist" } });`,
    ],
    [
      "Rollup, by the conditions of Next.js,",
      `import { rollup } from "rollup";
import resolve from "@rollup/plugin-node-resolve";
const bundle = await rollup({ input: "program.mjs", plugins: [resolve({ exportConditions: ${EDGE} })], onwarn(warning) { throw warning; } });
await bundle.write({ dir: "dist", format: "es", entryFileNames: "bundle.mjs" });`,
    ],
  ] as const
) {
  Deno.test(`${name} bundles the ES modules of the package`, async () => {
    const path = await project(name.split(/\W/)[0]!, { "program.mjs": PROGRAM, "build.mjs": config });
    if (config !== "") await command(NODE22!, ["build.mjs"], path);
    else {
      const options = ["--bundle", "--format=esm", "--splitting", "--out-extension:.js=.mjs", "--outdir=dist"];
      await command(NODE22!, [`${MODULES}/esbuild/bin/esbuild`, "bundle=program.mjs", ...options], path);
    }
    assertEquals(await command(NODE22!, ["dist/bundle.mjs"], path), "released\n");
    for (const { name } of Deno.readDirSync(`${path}/dist`)) {
      if (name.endsWith("js")) assert(!(await Deno.readTextFile(`${path}/dist/${name}`)).includes("__esModule"), name);
    }
  });
}
