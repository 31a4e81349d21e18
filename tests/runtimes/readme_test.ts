// Deno only: it starts the commands of the README.
import { assert, assertEquals } from "@std/assert";
import { freePort } from "../support/free_port.ts";
import { textOf } from "../support/test_files.ts";
import { withoutCoverage } from "../support/without_coverage.ts";
import { MODULES } from "./versions.ts";

const ROOT = new URL("../../", import.meta.url).pathname.replace(/\/$/, "");

/** Returns the code blocks of the part of the README on how to install the package. */
function blocks(tag: string): string[] {
  const [, part = ""] = /^## Install$([^]*?)^## /m.exec(textOf("README.md")) ?? [];
  return Array.from(part.matchAll(new RegExp("^```" + tag + "\\n([^]*?)^```$", "gm")), ([, code]) => code!);
}

/** An empty project beside a clone. */
class Project implements Disposable {
  readonly #folder = Deno.makeTempDirSync({ prefix: "holdfast_readme_" });
  readonly path = `${this.#folder}/project`;

  constructor() {
    Deno.mkdirSync(this.path);
    Deno.symlinkSync(ROOT, `${this.#folder}/holdfast`);
  }

  write(path: string, text: string): void {
    Deno.writeTextFileSync(`${this.path}/${path}`, text);
  }

  /** Runs a command in it, and returns what it printed. */
  async run(program: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
    const { code, stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      cwd: this.path,
      clearEnv: true,
      env: { ...withoutCoverage(), NO_COLOR: "1", ...env },
      stdin: "null",
    }).output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    assertEquals(code, 0, `${args.join(" ")}: ${out}${err}`);
    return out!;
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#folder, { recursive: true });
  }
}

Deno.test("the deno.json of the README links a clone, and fetches nothing", async () => {
  using project = new Project();
  const [configuration = ""] = blocks("json");
  project.write("deno.json", configuration);
  project.write(
    "program.ts",
    `import { acquire } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
using store = sqlite("locks.db");
await using lock = await acquire(store, "invoice:42");
console.log(lock.held);
`,
  );
  // Nobody listens there: what is fetched fails.
  const nowhere = `http://127.0.0.1:${freePort()}/`;
  const env = { DENO_DIR: `${project.path}/cache`, NPM_CONFIG_REGISTRY: nowhere, JSR_URL: nowhere };
  assertEquals(
    await project.run(Deno.execPath(), ["run", "--allow-read", "--allow-write", "program.ts"], env),
    "true\n",
  );
  assert((await project.run(Deno.execPath(), ["run", "jsr:@holdfast/cli", "--help"], env)).includes("holdfast"));
});

/** Returns the packages that the README installs after the lock. */
function others(): string[] {
  return Array.from(textOf("README.md").matchAll(/`(holdfast-\w+\.tgz)`/g), ([, file]) => `../holdfast/${file}`);
}

Deno.test("the commands of the README pack a clone and install it for Node and Bun", async () => {
  using project = new Project();
  using bun = new Project();
  const [install = "", ...more] = blocks("sh").filter((code) => code.includes("npm install"));
  assertEquals([more, others().length], [[], 2]);
  // In the place of npx: this Deno.
  const stub = `#!/bin/sh\n[ "$1" = -y ] && shift 2 && exec "${Deno.execPath()}" "$@"\n`;
  Deno.mkdirSync(`${project.path}/bin`);
  project.write("bin/npx", stub);
  Deno.chmodSync(`${project.path}/bin/npx`, 0o755);
  const PATH = `${project.path}/bin:${MODULES}/node22/bin:${Deno.env.get("PATH")}`;
  const lock = install.split(" ").at(-1)!.trim();
  try {
    await project.run("sh", ["-e", "-c", install], { npm_config_offline: "true", PATH });
    await project.run("npm", ["install", ...others()], { npm_config_offline: "true", PATH });
    await bun.run("bun", ["add", lock], { HOME: bun.path, PATH: `${MODULES}/bun/bin` });
  } finally {
    for (const { name } of Deno.readDirSync(ROOT)) {
      if (/^holdfast-\w+\.tgz$/.test(name)) await Deno.remove(`${ROOT}/${name}`);
    }
  }
  const program = `const { acquire } = require("@holdfast/lock");
const { sqlite } = require("@holdfast/lock/sqlite");
const store = sqlite("locks.db");
acquire(store, "invoice:42").then(async (lock) => {
  console.log(lock.held, acquire === (await import("@holdfast/lock")).acquire);
  await lock.release();
  store.close();
});
`;
  project.write("program.cjs", program);
  bun.write("program.cjs", program);
  assertEquals(await project.run("node", ["program.cjs"], { PATH }), "true true\n");
  assertEquals(await bun.run("bun", ["program.cjs"], { PATH: `${MODULES}/bun/bin` }), "true true\n");
  await project.run("node_modules/.bin/holdfast", ["--help"], { PATH });
  await project.run("node", ["-e", `require("@holdfast/compat/redlock")`], { PATH });
  assert((await Deno.stat(`${project.path}/node_modules/@holdfast/lock/package.json`)).isFile);
});
