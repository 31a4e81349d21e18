// Deno only: it packs the package.
import { assert, assertEquals } from "@std/assert";
import { textOf } from "../support/test_files.ts";

const root = new URL("../../", import.meta.url).pathname;

Deno.test("the npm package has the program holdfast, which Node starts", async () => {
  const program = /npm pkg set bin\.holdfast=(\S+)/.exec(textOf(".github/workflows/release.yml"))?.[1];
  assert(program !== undefined, "the release names it");
  const directory = await Deno.makeTempDir({ prefix: "holdfast_cli_" });
  const tarball = `${directory}/package.tgz`;
  const pack = ["pack", "--quiet", "--allow-dirty", `--output=${tarball}`];
  for (const [command, args] of [[Deno.execPath(), pack], ["tar", ["xzf", tarball, "-C", directory]]] as const) {
    const { success, stderr } = await new Deno.Command(command, { args: [...args], cwd: root, stdin: "null" }).output();
    assert(success, new TextDecoder().decode(stderr));
  }
  const text = await Deno.readTextFile(`${directory}/package/${program}`);
  assertEquals(text.split("\n")[0], "#!/usr/bin/env node");
  // It is started, not imported.
  assert((await Deno.stat(`${directory}/package/src/cli/supervise/watchdog_main.js`)).isFile, "the watchdog is packed");
  const manifest = JSON.parse(await Deno.readTextFile(`${directory}/package/package.json`));
  assertEquals(manifest.dependencies, undefined);
  await Deno.remove(directory, { recursive: true });
});
