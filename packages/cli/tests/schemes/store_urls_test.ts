// Deno only: it reads config files.
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { UsageError } from "../../src/command.ts";
import { readRedisUrl } from "../../src/schemes/redis_url.ts";
import { schemeOf } from "../../src/schemes/registry.ts";
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

const read = (text: string) => readRedisUrl(storeUrl(text, "--store"));

Deno.test("readRedisUrl() reads one server", () => {
  const { deployment, tls, addresses, username, password, db, prefix, replicas } = read(
    "rediss://us%40er:p%3Aw@h:7000/3?prefix=a%20b:&replicas=2",
  );
  assertEquals({ deployment, tls, addresses, username, password, db, prefix, replicas }, {
    deployment: "single",
    tls: true,
    addresses: [{ host: "h", port: 7000 }],
    username: "us@er",
    password: "p:w",
    db: 3,
    prefix: "a b:",
    replicas: 2,
  });
  assertEquals(read("redis://").addresses, [{ host: "127.0.0.1", port: 6379 }]);
  assertEquals(read("redis://[::1]:1").addresses, [{ host: "::1", port: 1 }]);
});

Deno.test("readRedisUrl() reads Sentinels with the name of the master", () => {
  const { deployment, addresses, master, db, sentinelPassword } = read(
    "redis+sentinel://a,b:1/my%2Fm/4?sentinelPassword=s",
  );
  assertEquals({ deployment, addresses, master, db, sentinelPassword }, {
    deployment: "sentinel",
    addresses: [{ host: "a", port: 26379 }, { host: "b", port: 1 }],
    master: "my/m",
    db: 4,
    sentinelPassword: "s",
  });
});

Deno.test("readRedisUrl() reads the nodes of a Cluster", () => {
  const { deployment, addresses } = read("redis+cluster://a:1,b:2");
  assertEquals([deployment, addresses], ["cluster", [{ host: "a", port: 1 }, { host: "b", port: 2 }]]);
});

Deno.test("readRedisUrl() says what is wrong with a URL, without the password", () => {
  const wrong = {
    "redis://u:secret@h/x": "has the path /x: a database is a number",
    "redis://u:secret@h/1/2": "has the path /1/2",
    "redis://u:secret@a,b": "has several hosts: give each its own --store",
    "redis://h?prefx=a": "has the parameter prefx: known are prefix, replicas",
    "redis://h?replicas=0": "has replicas=0",
    "redis://h#a": "write it as %23",
    "redis://%E0%A4%A@h": "write it as %25",
    "redis+sentinel://u:secret@h": "lacks the name of the master",
    "redis+sentinel://a,b:99999/m": "has the address b:99999",
    "redis+cluster://h/1": "has a database: a Cluster has only one",
    "redis+cluster://h?replicas=1": "has the parameter replicas",
  };
  for (const [text, message] of Object.entries(wrong)) {
    const error = assertThrows(() => read(text), UsageError, message);
    assert(!error.message.includes("secret"), error.message);
  }
});

Deno.test("schemeOf() refuses unknown URLs, and stores that are no quorum", async () => {
  const scheme = async (...stores: string[]) => schemeOf(await findStoreUrls({ stores, config: undefined, env: {} }));
  await assertRejects(
    () => scheme("ftp://u:secret@h"),
    UsageError,
    "no store has URLs that begin with ftp: (known: redis:",
  );
  for (const stores of [["redis://a", "sqlite:b.db"], ["sqlite:a.db", "redis://b"], ["sqlite:a.db", "sqlite:b.db"]]) {
    await assertRejects(() => scheme(...stores), UsageError, "several stores must be Redis servers, of which");
  }
  assertEquals((await scheme("redis://a", "rediss://b")).protocols.includes("redis:"), true);
});
