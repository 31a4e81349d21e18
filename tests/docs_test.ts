import { assert, assertEquals } from "@std/assert";
import { RedisServer } from "./redis_server.ts";
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

/** Checks the types of a program and runs it, in an empty directory, with a server where it expects one. */
async function run(code: string, server: RedisServer): Promise<string> {
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
    await writer.write(new TextEncoder().encode(code.replaceAll("new Redis()", `new Redis(${server.port})`)));
    await writer.close();
    const { success, stdout, stderr } = await child.output();
    assert(success, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("README.md has examples that run and end by themselves", async () => {
  await using server = await RedisServer.start();
  const found = blocks("README.md", "ts");
  assert(found.length >= 3, "the examples were found");
  const outputs = await Promise.all(found.map(({ code }) => run(code, server)));
  assert(outputs.some((output) => /fence \d{16}/.test(output)), "the first example prints its fence");
  assertEquals(await server.leftovers(), ["charged:42"]);
});

Deno.test("docstrings whose examples need a server or a test runner have examples that run", async () => {
  await using server = await RedisServer.start();
  const files = ["src/stores/redis/mod.ts", "src/stores/redis/store.ts", "src/testing.ts"];
  const found = files.flatMap((file) => blocks(file, "ts ignore"));
  assert(found.length >= 4, "the examples were found");
  // One that shows how to define tests defines none outside of a test run.
  await Promise.all(found.map(({ code }) => run(`${code}\nsetTimeout(() => Deno.exit(), 500);`, server)));
});
