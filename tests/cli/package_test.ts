// Deno only: it packs the package.
import { assert, assertEquals } from "@std/assert";
import { textOf } from "../support/test_files.ts";
import { pack } from "../tools/pack.ts";

/** How large the package may be; a store takes 10 to 15 kB of it, with its page. */
const MOST_BYTES = 500_000;

Deno.test("the npm package has the program holdfast, which Node starts as the docs say", async () => {
  assert(textOf(".github/workflows/release.yml").includes("deno task pack "), "the release packs it in this way");
  const directory = await Deno.makeTempDir({ prefix: "holdfast_cli_" });
  await pack(`${directory}/package.tgz`);
  const { size } = await Deno.stat(`${directory}/package.tgz`);
  assert(size <= MOST_BYTES, `${size} bytes`);
  await new Deno.Command("tar", { args: ["xzf", `${directory}/package.tgz`, "-C", directory] }).output();
  const { bin, dependencies } = JSON.parse(await Deno.readTextFile(`${directory}/package/package.json`));
  assertEquals([Object.keys(bin), dependencies], [["holdfast"], undefined]);
  const text = await Deno.readTextFile(`${directory}/package/${bin.holdfast}`);
  assertEquals(text.split("\n")[0], "#!/usr/bin/env node");
  // JSR's layer for npm has no programs: there the docs start the file.
  for (const page of ["README.md", "docs/command_line.md"]) {
    assert(textOf(page).includes(`node node_modules/@holdfast/lock/${bin.holdfast}`), page);
  }
  // It is started, not imported.
  assert((await Deno.stat(`${directory}/package/src/cli/supervise/watchdog_main.js`)).isFile, "the watchdog is packed");
  await Deno.remove(directory, { recursive: true });
});
