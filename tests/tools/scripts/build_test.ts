// Deno only: it tests a tool for Deno.
import { assert, assertEquals, assertThrows } from "@std/assert";
import * as constants from "../../../src/stores/redis/constants.ts";
import { ASSETS, ASSETS_MODULE, buildAssets } from "./assets.ts";
import { assemble, build, FOLDER, MODULE } from "./build.ts";
import { headerOf } from "./header.ts";
import { assetFiles, luaFiles } from "./text_files.ts";

const ROOT = new URL("../../../", import.meta.url);

/** A script called "a", with a fragment called "b". */
function assembled(script: string, fragment = "-- b: what it does\nlocal b = 1\n"): string {
  const path = `${FOLDER}/a.lua`;
  const header = "-- a: what it does\n--\n-- keys  lock queue?\n-- args  handle digest...\n";
  const texts = new Map([[path, header + script], [`${FOLDER}/lib/b.lua`, fragment]]);
  return assemble(path, texts, { LIMIT_MS: 5_000, TURN: "!" }).map(({ text }) => text).join("");
}

Deno.test("the module of the scripts is what the .lua files give", async () => {
  assertEquals(await Deno.readTextFile(new URL(MODULE, ROOT)), build(await luaFiles(), constants));
});

Deno.test("the module of the assets is what the files give", async () => {
  assertEquals(await Deno.readTextFile(new URL(ASSETS_MODULE, ROOT)), buildAssets(await assetFiles()));
});

Deno.test("buildAssets() keeps each text as it is", async () => {
  const [script, style] = ["`${a}` + '\\n' // é\n\n", "a::before { content: '\\'; }\n"];
  const built = buildAssets(new Map([[`${ASSETS}/script.js`, script], [`${ASSETS}/style.css`, style]]));
  const { SCRIPT, STYLE } = await import(`data:text/javascript,${encodeURIComponent(built)}`);
  assertEquals([SCRIPT, STYLE], [script, style]);
});

Deno.test("assemble() fills in fragments, keys, arguments and constants", () => {
  const script = "if KEYS.queue then\n  -- include b\n\n  -- why\n  return f(ARGV.handle, '$TURN', $LIMIT_MS)\nend\n";
  assertEquals(assembled(script), "if KEYS[2] then\nlocal b = 1\nreturn f(ARGV[1], '!', 5000)\nend\n");
  assertEquals(assembled("-- include b b\n"), "local b = 1\nlocal b = 1\n");
  assertEquals(assembled("return { ARGV.digest }"), "return { unpack(ARGV, 2) }\n");
});

Deno.test("assemble() says where a name stands that it does not know", () => {
  const cases: [script: string, words: string][] = [
    ["-- include c", `a.lua:5: there is no fragment "c" in ${FOLDER}/lib, only b`],
    ["return $LIMIT", "a.lua:5: there is no constant LIMIT in src/stores/redis/constants.ts"],
    ["return KEYS.fence", `a.lua:5: KEYS.fence is not in the header of ${FOLDER}/a.lua`],
    ["return ARGV.lease_ms", `a.lua:5: ARGV.lease_ms is not in the header of ${FOLDER}/a.lua`],
    ["return KEYS[1]", "a.lua:5: keys and arguments are named, as in the header"],
    ["return 1 -- one", "a.lua:5: a comment needs a line of its own"],
  ];
  for (const [script, words] of cases) assertThrows(() => assembled(script), Error, words);
  assertThrows(() => assembled("-- include b", "local b = $C"), Error, "lib/b.lua:1: there is no constant C");
  assertThrows(() => assembled("-- include b", "-- include b"), Error, "lib/b.lua:1: a fragment includes nothing");
  assertThrows(() => assembled("-- include b", "f(ARGV.handle)"), Error, "lib/b.lua:1: a fragment reads no arguments");
});

Deno.test("build() refuses a fragment that no script includes", async () => {
  const texts = new Map([...await luaFiles(), [`${FOLDER}/lib/idle.lua`, "local a = 1\n"]]);
  assertThrows(() => build(texts, constants), Error, "lib/idle.lua: no script includes it");
});

Deno.test("build() refuses a fragment whose keys have other places in another script", async () => {
  const texts = await luaFiles();
  const path = `${FOLDER}/vote.lua`;
  texts.set(
    path,
    texts.get(path)!.replace("-- keys  lock queue", "-- keys  queue lock"),
  );
  assertThrows(() => build(texts, constants), Error, "vote.lua: the keys of take have other");
});

Deno.test("headerOf() refuses a header without keys or arguments", () => {
  assertThrows(() => headerOf("a.lua", "-- keys  lock\n"), Error, 'a.lua: needs one line "-- args');
  assertThrows(() => headerOf("a.lua", "-- keys  Lock\n-- args  none\n"), Error, 'cannot read "Lock"');
  assertEquals(headerOf("a.lua", "-- keys  lock\n-- args  none\n").args, []);
});

Deno.test("deno task scripts --check fails when a file has changed that it builds from", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const assets = await assetFiles();
    for (const [path, text] of [...await luaFiles(), ...assets]) await write(folder, path, text);
    for (const path of [MODULE, ASSETS_MODULE]) {
      await write(folder, path, await Deno.readTextFile(new URL(path, ROOT)));
    }
    assertEquals(await check(folder), { code: 0, error: "" });
    await write(
      folder,
      `${FOLDER}/held.lua`,
      (await luaFiles()).get(`${FOLDER}/held.lua`)!.replace("1 or 0", "0 or 1"),
    );
    const stale = await check(folder);
    assert(stale.code === 1 && stale.error.includes(`${MODULE} is stale`), stale.error);
    await write(folder, `${ASSETS}/script.js`, `${assets.get(`${ASSETS}/script.js`)!}// more\n`);
    const both = await check(folder);
    assert(both.code === 1 && both.error.includes(`${ASSETS_MODULE} is stale`), both.error);
    await write(folder, `${FOLDER}/held.lua`, "-- include none\n");
    const broken = await check(folder);
    assert(broken.code === 1 && broken.error.includes("held.lua"), broken.error);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

async function write(folder: string, path: string, text: string): Promise<void> {
  await Deno.mkdir(`${folder}/${path}`.replace(/\/[^/]+$/, ""), { recursive: true });
  await Deno.writeTextFile(`${folder}/${path}`, text);
}

/** Runs the check for the .lua files under a folder. */
async function check(folder: string): Promise<{ code: number; error: string }> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      "--no-config",
      "--allow-read",
      new URL("../scripts.ts", import.meta.url).href,
      "--check",
    ],
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  return { code, error: new TextDecoder().decode(stderr) };
}
