import { assert } from "@std/assert";
import { until } from "./faults/until.ts";
import { RedisServer } from "./redis_server.ts";
import { RULE } from "./stores/redis/rights.ts";
import { withoutCoverage } from "./without_coverage.ts";

const root = new URL("../", import.meta.url).pathname;

/** The code in a document; in a source only that which `deno test --doc` leaves out, because it needs a server. */
function blocks(path: string, tag: string): { name: string; code: string }[] {
  const text = Deno.readTextFileSync(root + path).replace(/^ \* ?/gm, "");
  return [...text.matchAll(new RegExp("^```" + tag + "\\n([^]*?)^```$", "gm"))].map((match) => ({
    name: `${path}:${text.slice(0, match.index).split("\n").length}`,
    code: match[1] ?? "",
  }));
}

/** Servers for the examples: on the port that a client uses by itself, and on the two after that. */
class Servers implements AsyncDisposable {
  readonly all: readonly RedisServer[];

  private constructor(all: readonly RedisServer[]) {
    this.all = all;
  }

  static async start(): Promise<Servers> {
    return new Servers(await Promise.all([0, 1, 2].map(() => RedisServer.start())));
  }

  /** The code, with their real ports. */
  place(code: string): string {
    return code.replaceAll("new Redis()", "new Redis(6379)")
      .replaceAll(/\b(6379|6380|6381)\b/g, (port) => `${this.all[Number(port) - 6379]!.port}`);
  }

  async leftovers(): Promise<string[]> {
    return (await Promise.all(this.all.map((server) => server.leftovers()))).flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.all.map((server) => server[Symbol.asyncDispose]()));
  }
}

/** Checks the types of a program and runs it, in an empty directory, with servers where it expects them. */
async function run(code: string, servers: Servers): Promise<string> {
  const directory = await Deno.makeTempDir({ prefix: "holdfast_docs_" });
  try {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--check", "--allow-all", `--config=${root}deno.json`, "-"],
      cwd: directory,
      clearEnv: true,
      env: withoutCoverage(),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(servers.place(code)));
    await writer.close();
    const { success, stdout, stderr } = await child.output();
    assert(success, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("README.md has examples that run and end by themselves", async () => {
  await using servers = await Servers.start();
  const found = blocks("README.md", "ts");
  assert(found.length >= 3, "the examples were found");
  const outputs: string[] = [];
  // One after the other: on a busy machine several compilers at once would hold up the answers of the servers.
  for (const { code } of found) outputs.push(await run(code, servers));
  assert(outputs.some((output) => /fence \d{16}/.test(output)), "the first example prints its fence");
  // A node that is slower than the majority may not hear of the release any more when its client is closed right after
  // it: what that node holds ends with its lease, of 30 s.
  const left = async () => (await servers.leftovers()).join();
  await until(async () => await left() === "charged:42", "nothing is left", 40_000);
});

Deno.test("README.md gives the rights with which a user's locks are tested", () => {
  const rules = blocks("README.md", "text").map(({ code }) => code.trim().split(/\s+/));
  assert(rules.some((rule) => rule.join(" ") === Object.values(RULE).flat().join(" ")), "the rule was found");
});

Deno.test("docstrings whose examples need a server or a test runner have examples that run", async () => {
  await using servers = await Servers.start();
  const files = ["redis/mod.ts", "redis/store.ts", "redlock/mod.ts"].map((file) => `src/stores/${file}`);
  files.push("src/testing/mod.ts");
  const found = files.flatMap((file) => blocks(file, "ts ignore"));
  assert(found.length >= 6, "the examples were found");
  // One that shows how to define tests defines none outside of a test run.
  for (const { code } of found) await run(`${code}\nsetTimeout(() => Deno.exit(), 500);`, servers);
});
