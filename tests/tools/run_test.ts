// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { withoutCoverage } from "../support/without_coverage.ts";

const TOOL = new URL("run.ts", import.meta.url).pathname;
const OFFLINE = new URL("offline/", import.meta.url);

/** A folder whose tests need no program: none is asked for its version then, and nothing is installed. */
const FOLDER = "tests/time";

/** A project of which the tests are run. */
class Project implements Disposable {
  readonly #folder = Deno.makeTempDirSync({ prefix: "holdfast_project_" });

  /** Takes its files, by their paths in a folder. */
  constructor(files: Readonly<Record<string, string>>, folder = FOLDER) {
    const offline = `${this.#folder}/tests/tools/offline`;
    Deno.mkdirSync(offline, { recursive: true });
    Deno.copyFileSync(new URL("import_map.json", OFFLINE), `${offline}/import_map.json`);
    for (const [path, text] of Object.entries(files)) {
      const file = `${this.#folder}/${folder}/${path}`;
      Deno.mkdirSync(dirname(file), { recursive: true });
      Deno.writeTextFileSync(file, text);
    }
  }

  /** Runs some of its tests; gives the exit status, the last line, and everything that was printed. */
  async run(args: readonly string[], env: Record<string, string> = {}) {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", "--quiet", TOOL, "--no-check", ...args],
      cwd: this.#folder,
      clearEnv: true,
      env: { ...withoutCoverage(), CI: "", ...env },
      stdin: "null",
    }).output();
    const [out, text] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    const last = out!.trimEnd().split("\n").at(-1)!;
    return { code, last, text: `${out}${text}` };
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#folder, { recursive: true });
  }
}

/** An expression that is true the first time, and only then. */
const first = (name: string) =>
  `(() => { try { Deno.mkdirSync(new URL("${name}", import.meta.url)); return true; } catch { return false; } })()`;

/** A statement that fails. */
const FAIL = `throw new Error("always");`;

/** A test with a body. */
const test = (name: string, body: string) => `Deno.test("${name}", async (t) => { ${body} });\n`;
/** A test that the planted project skips. */
const skipped = (name: string) => `Deno.test.ignore("${name}", () => {});`;

/** A helper that defines a test, and what a file does with it. */
const HELPER = `export const define = (name: string, fn: () => void) => Deno.test(name, fn);`;
const helped = (name: string, body: string) =>
  `import { define } from "./helper.ts";\ndefine("${name}", () => { ${body} });\n`;

/** What fails, and how much. */
const FAILURES: Readonly<
  Record<string, { files: Record<string, string>; args?: string[]; last: string }>
> = {
  "a test that a helper defines": {
    files: { "helper.ts": HELPER, "a_test.ts": helped("a", FAIL) },
    last: "0 passed, 1 failed",
  },
  "a step of a test": {
    files: {
      "a_test.ts": test("a", `await t.step("b", () => { ${FAIL} });`),
    },
    last: "0 passed, 2 failed",
  },
  "a file that throws when it is loaded": {
    files: { "a_test.ts": test("a", FAIL), "b_test.ts": FAIL },
    last: "0 passed, 2 failed",
  },
  "a file that imports what there is not": {
    files: { "a_test.ts": test("a", FAIL), "b_test.ts": `import "./missing.ts";` },
    last: "0 passed, 1 failed",
  },
  "an error that no test catches": {
    files: {
      "a_test.ts": test("a", FAIL),
      "b_test.ts": `${test("b", FAIL)} onunload = () => { throw new Error("always"); };`,
    },
    last: "0 passed, 3 failed",
  },
  "a file that ends the process with status 0": {
    files: { "a_test.ts": test("a", ""), "b_test.ts": "Deno.exit(0);" },
    last: "1 passed, 1 failed",
  },
  "a test that ends the process with status 0": {
    files: { "a_test.ts": test("a", "Deno.exit(0);") },
    last: "0 passed, 1 failed",
  },
  "a test that kills the process": {
    files: { "a_test.ts": test("a", `Deno.kill(Deno.pid, "SIGKILL");`) },
    last: "0 passed, 1 failed",
  },
  "a test of one file, while another with its name passes": {
    files: {
      "helper.ts": HELPER,
      "a_test.ts": helped("a", ""),
      "b_test.ts": helped("a", FAIL),
    },
    last: "1 passed, 1 failed",
  },
  "a test that never ends": {
    files: { "a_test.ts": `Deno.test({ name: "a", timeout: 100, fn: () => { for (;;) {} } });` },
    last: "0 passed, 1 failed",
  },
  "a file that is not there": {
    files: { "a_test.ts": test("a", FAIL) },
    args: [FOLDER, `${FOLDER}/missing_test.ts`],
    last: "0 passed, 1 failed",
  },
  "a filter that matches nothing": {
    files: { "a_test.ts": test("a", "") },
    args: ["--filter", "b", FOLDER],
    last: "0 passed, 1 failed",
  },
  "a file without a test": { files: { "a_test.ts": "" }, last: "0 passed, 1 failed" },
  "a file of which all tests are ignored": {
    files: { "a_test.ts": skipped("a") },
    last: "0 passed, 1 failed, 1 skipped",
  },
};

for (const [what, { files, args = [FOLDER], last }] of Object.entries(FAILURES)) {
  Deno.test(`deno task test fails with ${what}`, async () => {
    using project = new Project(files);
    const ended = await project.run(args);
    assertEquals([ended.code, ended.last], [1, last], ended.text);
  });
}

Deno.test("deno task test runs each test once, also one that fails", async () => {
  using project = new Project({ "a_test.ts": test("a", `if (${first("a")}) ${FAIL}`) });
  const { code, last, text } = await project.run([FOLDER]);
  assertEquals([code, last], [1, "0 passed, 1 failed"], text);
});

Deno.test("deno task test lets a test be skipped, but with CI=1", async () => {
  using project = new Project({ "a_test.ts": test("a", "") + skipped("b") });
  const [here, ci] = [await project.run([FOLDER]), await project.run([FOLDER], { CI: "1" })];
  assertEquals([here.code, here.last], [0, "1 passed, 0 failed, 1 skipped"], here.text);
  assertEquals([ci.code, ci.last], [1, "1 passed, 1 failed"], ci.text);
  assert(ci.text.includes("skipped, which is not allowed with CI=1: b (tests/time/a_test.ts)"), ci.text);
});

Deno.test("deno task test says in a line what is missing, and fails with CI=1", async () => {
  const [folder, file] = ["tests/stores/redis", "valkey_test.ts"];
  using project = new Project({ [file]: test("a", "") }, folder);
  const env = { VALKEY_SERVER: "/missing" };
  const run = (ci: object) => project.run([`${folder}/${file}`], { ...env, ...ci });
  const [here, ci] = [await run({}), await run({ CI: "1" })];
  assertEquals([here.code, here.last], [0, "1 passed, 0 failed"], here.text);
  assert(here.text.includes("Some tests are skipped: VALKEY_SERVER=/missing does not run\n"), here.text);
  assertEquals([ci.code, ci.text], [1, "With CI=1 no test may be skipped: VALKEY_SERVER=/missing does not run\n"]);
});

Deno.test("deno task test fails without a server that all tests need", async () => {
  const folder = "tests/stores/redis";
  using project = new Project({ "store_test.ts": test("a", "") }, folder);
  const { code, text } = await project.run([`${folder}/store_test.ts`], { REDIS_SERVER: "/missing" });
  assertEquals([code, text], [1, "REDIS_SERVER=/missing does not run\n"]);
});

Deno.test("deno task test fails with a rejection behind the last test", async () => {
  using project = new Project({ "a_test.ts": test("a", `setTimeout(() => Promise.reject(new Error("late")), 1);`) });
  const { code, last, text } = await project.run([FOLDER]);
  // Whether the test itself has passed by then, and whether the file has failed besides, depends on Deno's timing.
  assert(code === 1 && /^[01] passed, [12] failed$/.test(last) && text.includes("Error: late"), text);
});
