// Deno only: it reads config files.
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { UsageError } from "../../src/command.ts";
import { findStoreUrls, hostsOf, labelOf, storeUrl } from "../../src/schemes/store_urls.ts";

/** Returns the URLs that are found with this content of the config file. */
async function withConfig(content: string, env: Record<string, string> = {}, stores: string[] = []): Promise<string[]> {
  const directory = await Deno.makeTempDir({ prefix: "holdfast_cli_" });
  try {
    await Deno.writeTextFile(`${directory}/config.json`, content);
    return (await findStoreUrls({ stores, config: `${directory}/config.json`, env })).map(({ href }) => href);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("findStoreUrls() prefers the option to the environment, and that to the file", async () => {
  const env = { HOLDFAST_STORE: "redis://env" };
  const find = async (stores: string[], env: Record<string, string>) => {
    return (await findStoreUrls({ stores, config: undefined, env })).map(({ href }) => href);
  };
  assertEquals(await find(["redis://option"], env), ["redis://option"]);
  assertEquals(await find([], env), ["redis://env"]);
  assertEquals(await withConfig('{ "store": "redis://file" }'), ["redis://file"]);
  // A file that is named is an option.
  assertEquals(await withConfig('{ "store": "redis://file" }', env), ["redis://file"]);
});

Deno.test("findStoreUrls() says where to name the store", async () => {
  await assertRejects(
    () => findStoreUrls({ stores: [], config: undefined, env: {} }),
    UsageError,
    "no store: give --store",
  );
});

Deno.test("findStoreUrls() splits HOLDFAST_STORE where a new URL begins", async () => {
  const find = async (text: string) => {
    const urls = await findStoreUrls({ stores: [], config: undefined, env: { HOLDFAST_STORE: text } });
    return urls.map(labelOf);
  };
  assertEquals(await find(" redis://a redis://b,redis://c,  redis://d\n"), [
    "redis://a",
    "redis://b",
    "redis://c",
    "redis://d",
  ]);
  assertEquals(await find("redis+sentinel://a:1,b:2/m rediss://c"), ["redis+sentinel://a:1,b:2/m", "rediss://c"]);
  assertEquals((await find("sqlite:/my files/a,b.db")).length, 1);
});

Deno.test("findStoreUrls() reads several stores and a prefix from the file", async () => {
  const urls = await withConfig('{ "store": ["redis://a", "redis://b?prefix=own:"], "prefix": "file:" }');
  assertEquals(urls.map((url) => new URL(url).searchParams.get("prefix")), ["file:", "own:"]);
});

Deno.test("findStoreUrls() says what is wrong with the file", async () => {
  const wrong = {
    "{": "is not JSON",
    "[]": "is not an object",
    '{ "stores": "redis://a" }': "has the key stores; known are store and prefix",
    "{}": "has no URL as its store",
    '{ "store": [] }': "has no URL as its store",
    '{ "store": 1 }': "has no URL as its store",
    '{ "store": "redis://a", "prefix": 1 }': "has a prefix that is not a string",
    '{ "store": "a" }': "must be a URL",
  };
  for (const [content, message] of Object.entries(wrong)) {
    await assertRejects(() => withConfig(content), UsageError, message);
  }
  await assertRejects(() => findStoreUrls({ stores: [], config: "/nowhere.json", env: {} }), UsageError, "cannot read");
});

Deno.test("storeUrl() hides passwords in what it complains about", () => {
  for (const text of ["redis//x:secret@h", "//u:secret@h", "redis://u:se/secret@h:x", "x?sentinelPassword=secret"]) {
    const { message } = assertThrows(() => storeUrl(text, "--store"), UsageError);
    assert(message.startsWith("--store must be a URL such as"), message);
    assert(!message.includes("secret"), message);
  }
});

Deno.test("labelOf() shows neither user nor password nor parameters", () => {
  const labels = ["redis://u:p@h:1/2?prefix=x", "redis+sentinel://:p@a:1,b:2/m", "redis://[::1]:7/"];
  assertEquals(labels.map((text) => labelOf(storeUrl(text, "--store"))), [
    "redis://h:1/2",
    "redis+sentinel://a:1,b:2/m",
    "redis://[::1]:7",
  ]);
});

Deno.test("hostsOf() returns all hosts of a URL", () => {
  assertEquals(hostsOf(storeUrl("redis+cluster://a:1,b,[::1]:3/", "--store")), ["a:1", "b", "[::1]:3"]);
  assertEquals(hostsOf(storeUrl("sqlite:a/b.db", "--store")), []);
});
