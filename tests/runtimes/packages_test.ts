// Deno only: it packs the packages, and installs them for other runtimes.
import { assert, assertEquals } from "@std/assert";
import { textOf } from "../support/test_files.ts";
import { pack } from "../tools/pack.ts";
import { PACKAGES } from "../tools/packages.ts";
import { command } from "./command.ts";
import { FOLDER, MODULES } from "./versions.ts";

/**
 * How large each package may be, in bytes. Of the lock, CommonJS beside the ES modules takes a part, without which Jest
 * does not load it.
 */
const MOST_BYTES: Readonly<Record<string, number>> = {
  "@holdfast/lock": 260_000,
  "@holdfast/cli": 100_000,
  "@holdfast/compat": 25_000,
  "@holdfast/otel": 15_000,
  "@holdfast/testing": 35_000,
};

/** Takes a lock that all packages have to do with. */
const PROGRAM = `import { acquire, LockTimeoutError } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { sqlite } from "@holdfast/lock/sqlite";
import { main } from "@holdfast/cli";
import { dashboard } from "@holdfast/cli/dashboard";
import Redlock from "@holdfast/compat/redlock";
import { Mutex } from "@holdfast/compat/redis-semaphore";
import { otel } from "@holdfast/otel";
import { storeSuite } from "@holdfast/testing";

const recorded = [];
const instrument = (name) => ({ add: () => recorded.push(name), record: () => recorded.push(name), addCallback() {} });
const made = ["createCounter", "createHistogram", "createObservableGauge", "createObservableUpDownCounter"];
const meter = Object.fromEntries([...made, "createUpDownCounter"].map((make) => [make, instrument]));
const store = sqlite("locks.db", { observer: otel({ meter }) });
const lock = await acquire(store, "invoice:42");
console.log("lock", lock.held);
console.log("metric", recorded.length > 0);
const late = await acquire(store, "invoice:42", { wait: 10 }).catch((error) => error);
console.log("one copy", late instanceof LockTimeoutError, typeof Redlock, typeof Mutex);
const pages = dashboard(store);
const page = await (await pages(new Request("http://localhost/"))).text();
pages[Symbol.dispose]();
console.log("dashboard", page.includes("invoice:42"));
const status = await main(["ls", "--json", "--store", "sqlite:locks.db"], {});
console.log("ls", status);
await lock.release();
store.close();
const behaviours = [];
storeSuite({
  capabilities: memory().capabilities,
  test: (name, run) => behaviours.push([name, run]),
  open: () => {
    const store = memory();
    return { connect: () => store, close: () => {} };
  },
});
const [[, run]] = behaviours.filter(([name]) => name.includes("grants a free lock"));
await run();
console.log("suite", behaviours.length > 50);
process.exit();
`;

const PRINTED =
  /^lock true\nmetric true\none copy true function function\ndashboard true\n{"name":"invoice:42",.*}\nls 0\nsuite true\n$/;

/** Where the packages are installed from their tarballs. */
let folder: string;

Deno.test.beforeAll(async () => {
  folder = await Deno.makeTempDir({ dir: FOLDER, prefix: "packages_" });
  const packed = await pack(folder);
  for (const [name, most] of Object.entries(MOST_BYTES)) {
    const { size } = await Deno.stat(packed.get(name)!);
    assert(size <= most, `${name}: ${size} bytes`);
  }
  await Deno.writeTextFile(`${folder}/package.json`, "{}");
  await Deno.writeTextFile(`${folder}/program.mjs`, PROGRAM);
  const npm = ["install", "--offline", "--no-audit", "--no-fund", "--loglevel=error"];
  await command("npm", [...npm, ...packed.values()], folder);
});

Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

for (
  const [name, ...words] of [
    ["Node 22", `${MODULES}/node22/bin/node`],
    ["Node 24", `${MODULES}/node24/bin/node`],
    ["Bun", `${MODULES}/bun/bin/bun`],
    ["Deno", Deno.execPath(), "run", "--quiet", "--allow-all", "--node-modules-dir=manual"],
  ] as const
) {
  Deno.test(`all packages work together in ${name}, installed from their tarballs`, async () => {
    const [program, ...args] = words;
    const printed = await command(program, [...args, "program.mjs"], folder);
    assert(PRINTED.test(printed), printed);
    for (const file of ["locks.db", "locks.db-wal", "locks.db-shm"]) {
      await Deno.remove(`${folder}/${file}`).catch(() => {});
    }
  });
}

Deno.test("the READMEs of the packed packages link nothing but pages that are published", async () => {
  for (const { name, version } of PACKAGES) {
    const readme = await Deno.readTextFile(`${folder}/node_modules/${name}/README.md`);
    const published = `https://jsr.io/${name}/${version}/`;
    const links = Array.from(readme.matchAll(/\]\(([^)#]+)/g), ([, link]) => link!);
    const pages = links.filter((link) => !/^https?:/.test(link) || link.startsWith(published));
    if (name === PACKAGES[0]!.name) assert(pages.length > 10, readme);
    for (const link of pages) {
      assert(link.startsWith(`${published}docs/`), `${name}: ${link}`);
      assert(textOf(link.slice(published.length)) !== "", link);
    }
  }
});

Deno.test("the packages beside the lock need nothing but the lock, as a peer", async () => {
  const [lock, ...others] = PACKAGES;
  const manifest = async (name: string) => {
    return JSON.parse(await Deno.readTextFile(`${folder}/node_modules/${name}/package.json`));
  };
  for (const { name } of others) {
    const { dependencies, peerDependencies } = await manifest(name);
    assertEquals([dependencies, peerDependencies], [undefined, { [lock!.name]: `^${lock!.version}` }], name);
  }
  const { dependencies, peerDependencies, bin } = await manifest(lock!.name);
  assertEquals([dependencies, peerDependencies, bin], [undefined, undefined, undefined]);
});

Deno.test("the package of the command line has the program holdfast, which Node starts", async () => {
  assert(textOf(".github/workflows/release.yml").includes("deno task pack "), "the release packs it in this way");
  const installed = `${folder}/node_modules/@holdfast/cli`;
  const { bin } = JSON.parse(await Deno.readTextFile(`${installed}/package.json`));
  assertEquals(Object.keys(bin), ["holdfast"]);
  const text = await Deno.readTextFile(`${installed}/${bin.holdfast}`);
  assertEquals(text.split("\n")[0], "#!/usr/bin/env node");
  // It is started, not imported.
  assert((await Deno.stat(`${installed}/src/supervise/watchdog_main.js`)).isFile, "the watchdog is packed");
  const linked = `${folder}/node_modules/.bin/holdfast`;
  assert(/^holdfast \d/.test(await command(`${MODULES}/node22/bin/node`, [linked, "--version"], folder)));
  if (Deno.build.os === "linux") {
    // There writes to this file fail as on a disk that is full.
    const node = await new Deno.Command("sh", {
      args: ["-c", 'exec node "$1" --help > /dev/full', "sh", linked],
    }).output();
    assertEquals(
      [node.code, new TextDecoder().decode(node.stderr)],
      [1, "holdfast: cannot write: ENOSPC: no space left on device, write\n"],
    );
  }
});
