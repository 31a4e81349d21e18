// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import * as exported from "@holdfast/lock";
import { DEPLOYMENTS } from "./faults/run/options.ts";
import { Masters } from "./support/masters.ts";
import { replayed } from "./support/replayed.ts";
import { HANG_MS, until } from "./support/until.ts";
import { RULE } from "./stores/redis/rights.ts";
import { MEMBERS, sourceFiles, SOURCES, textOf } from "./support/test_files.ts";
import { runSource } from "./support/run_source.ts";
import { withoutCoverage } from "./support/without_coverage.ts";

const root = new URL("../", import.meta.url).pathname;

/** The code in a document; in a source only that which `deno test --doc` leaves out, because it needs a server. */
function blocks(path: string, tag: string): { name: string; code: string }[] {
  const text = Deno.readTextFileSync(root + path).replace(/^ \* ?/gm, "");
  return [...text.matchAll(new RegExp("^```" + tag + "\\n([^]*?)^```$", "gm"))].map((match) => ({
    name: `${path}:${text.slice(0, match.index).split("\n").length}`,
    code: match[1] ?? "",
  }));
}

/**
 * The code of the tables of a page that say in their last column, "Holdfast", what to write: a program of functions
 * that nobody calls. A word alone is an export or the name of an option, what begins with a word and a colon is
 * options.
 */
function tables(page: string): { name: string; code: string } {
  const cells = Deno.readTextFileSync(root + page).split("\n\n").flatMap((part) => {
    const [head = "", , ...rows] = part.trim().split("\n");
    return /\| Holdfast +\|$/.test(head) ? rows.map((row) => row.split("|").at(-2)!) : [];
  });
  const spans = cells.flatMap((cell) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, code]) => code!));
  const functions = spans.map((span) => {
    const code = span.replaceAll("…", "undefined!");
    if (/^\w+: /.test(code)) return `({ ${code} }) satisfies AcquireOptions;`;
    if (!/^[a-z]\w+$/.test(code) || code in exported || code === "null") return `async () => { ${code} };`;
    return `"${code}" satisfies keyof (AcquireOptions & RedisOptions);`;
  });
  assert(functions.length >= 50, `the code was found: ${functions.length}`);
  return {
    name: page,
    code: `import { ${Object.keys(exported).join(", ")} } from "@holdfast/lock";
import type { AcquireOptions, Lock, RedisClient } from "@holdfast/lock";
import type { RedisStore, RedisOptions } from "@holdfast/lock/redis";
declare const a: RedisClient, b: RedisClient, c: RedisClient, client: RedisClient, clients: RedisClient[];
declare const store: RedisStore, lock: Lock;
declare function body(lock: Lock): Promise<string>;
${functions.join("\n")}`,
  };
}

/** The ports that the examples name: that which a client uses by itself, and for Redlock the two after it. */
const PORTS = ["6379", "6380", "6381"];

/** Returns an example with the ports of these servers. */
function placed(code: string, { servers }: Masters): string {
  const port = new RegExp(`\\b(${PORTS.join("|")})\\b`, "g");
  return code.replaceAll("new Redis()", "new Redis(6379)")
    .replaceAll(port, (named) => `${servers[PORTS.indexOf(named)]!.port}`);
}

/** Checks the types of programs, all at once: each check by itself would compile the package anew. */
async function check(programs: readonly { name: string; code: string }[]): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "holdfast_docs_" });
  try {
    const files = programs.map(({ name, code }) => {
      const file = `${directory}/${name.replace(/\W+/g, "_")}.ts`;
      // Each is a module, whose names are its own.
      Deno.writeTextFileSync(file, `${code}\nexport {};\n`);
      return file;
    });
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", `--config=${root}deno.json`, ...files],
      clearEnv: true,
      env: withoutCoverage(),
    }).output();
    assert(success, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Runs a program whose types were checked, in an empty directory, with servers where it expects them. */
async function run(code: string, servers: Masters): Promise<string> {
  const directory = await Deno.makeTempDir({ prefix: "holdfast_docs_" });
  try {
    const flags = ["--no-check", "--allow-all", `--config=${root}deno.json`];
    const { success, out, err } = await runSource(placed(code, servers), { flags, cwd: directory });
    assert(success, err);
    return out;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** The README and the pages of docs/. */
function pages(folder = "docs"): string[] {
  return [...Deno.readDirSync(root + folder)].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return pages(`${folder}/${name}`);
    return name.endsWith(".md") ? [`${folder}/${name}`] : [];
  });
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...MEMBERS.map((name) => `packages/${name}/README.md`),
  ...pages(),
].sort();

/** The examples of docstrings that need a server or a test runner. */
function docstrings(): { name: string; code: string }[] {
  const files = ["stores/redis/mod.ts", "stores/redis/store.ts", "redlock/mod.ts", "redlock/store.ts"];
  const members = ["testing/mod.ts", "testing/src/store_suite.ts", "cli/mod.ts", "cli/src/main.ts"];
  return [...files.map((file) => `src/${file}`), ...members.map((file) => `packages/${file}`)]
    .flatMap((file) => blocks(file, "ts ignore"));
}

/** The first example of the README over node-redis. */
function overNodeRedis(): { name: string; code: string } {
  const [{ code = "" } = {}] = blocks("README.md", "ts");
  const [made, closed] = ["const redis = new Redis(); // localhost:6379", "redis.disconnect();"];
  const [imported, opened, ended] = [
    `import { createClient } from "redis";`,
    `const redis = await createClient({ url: "redis://127.0.0.1:6379" }).on("error", console.error).connect();`,
    "redis.destroy();",
  ];
  assert(code.includes(made) && code.includes(closed), code);
  const other = code.replace(/^import .* from "ioredis";$/m, imported).replace(made, opened).replace(closed, ended);
  return { name: "README_node-redis", code: other };
}

Deno.test("the README, the pages of docs/ and docstrings have examples with the right types", async () => {
  const examples = ["ts", "ts ignore"].flatMap((tag) => PAGES.flatMap((page) => blocks(page, tag)));
  await check([...examples, tables("docs/migration.md"), overNodeRedis(), ...docstrings()]);
});

Deno.test("the README and the pages of docs/ have examples that run and end by themselves", async () => {
  await using servers = await Masters.start(PORTS.length);
  const found = PAGES.flatMap((page) => blocks(page, "ts"));
  assert(found.length >= 15, "the examples were found");
  const outputs: string[] = [];
  for (const { name, code } of found) {
    const lines = Array.from(code.matchAll(/console\.log\(.*\); \/\/ (.+)$/gm), ([, line]) => line!);
    // What an example says that it prints, it prints: unless a slow moment takes some of a lease or of a pause.
    await replayed(async () => {
      const output = await run(code, servers);
      outputs.push(output);
      // A node that is slower than the majority may not hear of the release any more when its client is closed right
      // after it: what that node holds ends with its lease, of 30 s, and the next example asks that server again.
      await until(async () => (await servers.leftovers()).length === 0, `nothing is left of ${name}`, HANG_MS);
      const isMissing = lines.some((line) => !output.split("\n").includes(line));
      return isMissing ? `${name} prints ${lines}: ${output}` : undefined;
    });
  }
  assert(outputs.some((output) => /fence \d{16}/.test(output)), "an example prints its fence");
});

Deno.test("the first example of the README runs over ioredis and over node-redis, too", async () => {
  await using servers = await Masters.start(PORTS.length);
  for (const { name, code } of [blocks("README.md", "ts")[0]!, overNodeRedis()]) {
    const output = await run(code, servers);
    assert(/^charging invoice 42 with fence \d{16}\n$/.test(output), `${name}: ${output}`);
    assertEquals(await servers.leftovers(), [], name);
  }
});

Deno.test("README.md is one screen", () => {
  assert(new TextEncoder().encode(textOf("README.md")).length <= 5_000);
});

Deno.test("the README and the pages of docs/ have links that lead somewhere", () => {
  for (const page of PAGES) {
    const text = Deno.readTextFileSync(root + page).replace(/^```[^]*?^```$/gm, "");
    for (const [, target = ""] of text.matchAll(/\]\(([^)]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [path = "", anchor] = target.split("#");
      const file = new URL(path, `file://${root}${page}`).pathname;
      const linked = Deno.readTextFileSync(file);
      const headings = Array.from(linked.matchAll(/^#+ (.+)$/gm), ([, heading]) => {
        return heading!.toLowerCase().replace(/[^\w\s-]/g, "").replace(/\s/g, "-");
      });
      assert(anchor === undefined || headings.includes(anchor), `${page} links to ${target}`);
    }
  }
});

Deno.test("the pages name files of src/ and tests/ that exist", () => {
  const named = [...PAGES, "tests/README.md"].flatMap((page) => {
    const text = Deno.readTextFileSync(root + page);
    return Array.from(
      text.matchAll(/`((?:src|tests)\/[\w/.]+\.(?:ts|lua|json))`/g),
      ([, file]) => ({ page, file: file! }),
    );
  });
  assert(named.length >= 20, "the files were found");
  assertEquals(named.filter(({ file }) => !exists(root + file)), []);
});

Deno.test("no page runs a program whose package it does not name", () => {
  // Where the package has no such program, these download the package of that name, whoever owns it.
  const bare = /\b(?:npx|bunx|npm exec|pnpm (?:dlx|exec)|yarn dlx)(?: --?[a-z]+)*(?: --)? holdfast\b/;
  for (const run of ["npx holdfast ls", "npx -y holdfast", "bunx holdfast", "npm exec -- holdfast"]) {
    assert(bare.test(run));
  }
  const files = [
    ...PAGES,
    "CHANGELOG.md",
    ...SOURCES.flatMap((folder) => sourceFiles(folder, ".ts")),
    ...sourceFiles("examples/", ".ts"),
  ];
  assertEquals(files.filter((file) => bare.test(Deno.readTextFileSync(root + file))), []);
});

Deno.test("docs/telemetry.md installs the packages that its program imports", () => {
  const text = Deno.readTextFileSync(`${root}docs/telemetry.md`);
  const imported = Array.from(text.matchAll(/ from "(@opentelemetry\/[^"]+)";$/gm), ([, name]) => name!);
  const [, installed = ""] = /^npm install (.+)$/m.exec(text) ?? [];
  assertEquals(installed.split(" ").sort(), [...new Set(imported)].sort());
});

Deno.test("all pages name the same oldest version of Node", () => {
  const named = [...PAGES, "CHANGELOG.md"].flatMap((page) => {
    const text = Deno.readTextFileSync(root + page).replace(/\s+/g, " ");
    return Array.from(text.matchAll(/Node ([\d.]*\d)(?:\+| (?:or|and) later)/g), ([, version]) => `${version} ${page}`);
  });
  assert(named.includes("20.19 README.md") && named.includes("20.19 docs/command_line.md"), named.join());
  // SQLite comes with Node only since then.
  assertEquals(named.filter((each) => !/^20\.19 |^22\.13 (README|docs\/stores\/sqlite)/.test(each)), []);
});

Deno.test("docs/stores/ and docs/redlock.md have the same headings", () => {
  const same = [
    ...["When to use it", "Set-up", "What is stored", "What it promises", "What it does not promise", "Rights"],
    "Operations",
  ];
  for (const page of [...pages("docs/stores"), "docs/redlock.md"]) {
    const text = Deno.readTextFileSync(root + page).replace(/^```[^]*?^```$/gm, "");
    const headings = Array.from(text.matchAll(/^## (.+)$/gm), ([, heading]) => heading!);
    assertEquals(headings.filter((heading) => same.includes(heading)), same, page);
  }
});

Deno.test("docs/README.md leads to each page, by the words that people search for", () => {
  const text = Deno.readTextFileSync(`${root}docs/README.md`);
  const linked = Array.from(text.matchAll(/\]\(([\w/]+\.md)/g), ([, page]) => `docs/${page}`);
  assertEquals(pages().filter((page) => page !== "docs/README.md" && !linked.includes(page)), []);
  const words = [
    ...["NestJS", "Express", "Fastify", "Hono", "Next.js", "Lambda", "BullMQ", "pg-boss", "PM2", "worker threads"],
    ...["Jest", "Vitest", "Prisma", "Drizzle", "Kysely", "Knex", "TypeORM", "Sequelize", "MikroORM", "Kubernetes"],
    ...[
      "leader",
      "cron",
      "idempotent",
      "Idempotency",
      "throttle",
      "debounce",
      "semaphore",
      "pino",
      "Sentry",
      "SIGTERM",
    ],
  ];
  // In a row with a link to a page.
  const rows = text.split("\n").filter((line) => line.startsWith("| ") && line.includes("]("));
  assertEquals(words.filter((word) => !rows.some((row) => row.includes(word))), []);
});

Deno.test("docs/recipes/ has pages of 60 lines at most, each with something that is run", () => {
  for (const page of pages("docs/recipes")) {
    const lines = Deno.readTextFileSync(root + page).trimEnd().split("\n");
    assert(lines.length <= 60, `${page} has ${lines.length} lines`);
    const run = lines.some((line) => /^```(ts|ts packages|yaml)$/.test(line));
    assert(run, `${page} has a program`);
  }
});

Deno.test("docs/examples.md names each program of examples/", () => {
  const text = Deno.readTextFileSync(`${root}docs/examples.md`);
  for (const { name } of Deno.readDirSync(`${root}examples`)) {
    if (name.endsWith(".ts") && name !== "demo.ts") assert(text.includes(`\`${name}\``), name);
  }
});

Deno.test("docs/why_not_setnx.md names each test of tests/recipes/", () => {
  const text = Deno.readTextFileSync(`${root}docs/why_not_setnx.md`);
  assertEquals(sourceFiles("tests/recipes/", "_test.ts").filter((path) => !text.includes(`\`${path}\``)), []);
});

Deno.test("docs/choosing_a_store.md has each store, and each deployment of fault runs", () => {
  const rows = Deno.readTextFileSync(`${root}docs/choosing_a_store.md`).split("\n").filter((line) => {
    return line.startsWith("| [") && line.split("|").length > 7;
  }).join("\n");
  // The engine is there as the backend for memcached.
  const stores = pages("docs/stores").map((page) => page.replace("docs/", "")).filter((page) => !/cas\.md$/.test(page));
  assertEquals(stores.filter((page) => !rows.includes(`(${page}`)), [], "stores without a row");
  const named = Array.from(rows.matchAll(/--deployment (\w+)/g), ([, deployment]) => deployment!);
  assertEquals(named.sort(), [...DEPLOYMENTS].sort(), "each deployment is named in the row of its store");
});

Deno.test("docs/stores/redis.md gives the rights with which a user's locks are tested", () => {
  const rules = blocks("docs/stores/redis.md", "text").map(({ code }) => code.trim().split(/\s+/));
  assert(rules.some((rule) => rule.join(" ") === Object.values(RULE).flat().join(" ")), "the rule was found");
});

Deno.test("docstrings whose examples need a server or a test runner have examples that run", async () => {
  await using servers = await Masters.start(PORTS.length);
  const found = docstrings();
  assert(found.length >= 6, "the examples were found");
  // One that shows how to define tests defines none outside of a test run.
  for (const { code } of found) await run(`${code}\nsetTimeout(() => Deno.exit(), 500);`, servers);
});
