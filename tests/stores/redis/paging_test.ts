import { assert, assertEquals, assertRejects } from "@std/assert";
import type { QueryOptions } from "@holdfast/lock";
import type { RedisStore } from "@holdfast/lock/redis";
import type { Redis } from "ioredis";
import { ask, claimOf, grant, LONG } from "../../support/claims.ts";
import type { RedisServer } from "../../support/redis_server.ts";
import { until } from "../../support/until.ts";
import { serverStore } from "../../support/server_store.ts";
import { testOnServer } from "./on_server.ts";

testOnServer("query() lists 10,000 locks page by page, in many short commands", async ({ server, client, store }) => {
  const names = Array.from({ length: 10_000 }, (_, i) => `${i}`);
  // As any program of another kind locks.
  await Promise.all(names.map((name) => client.set(`lock:${name}`, "rival", "PX", LONG)));
  const commands = await monitored(server, client, async () => {
    const pages = await pagesOf(store, { limit: 500 });
    assertEquals([...new Set(pages.flat())].sort(), names.sort());
    for (const page of pages) assert(page.length < 700, `${page.length} names`);
    assert(pages.length > 14, `${pages.length} pages`);
  });
  const counts = commands.filter(([name]) => name === "scan").map((words) => Number(words.at(-1)));
  assert(Math.max(...counts) <= 1_000, `the server looks at ${Math.max(...counts)} keys at once`);
});

testOnServer("query() looks at few keys for a small page", async ({ client, store }) => {
  await Promise.all(Array.from({ length: 2_000 }, (_, i) => client.set(`lock:${i}`, "rival", "PX", LONG)));
  const { held, cursor } = await store.query({ limit: 5 });
  assert(held.length >= 5 && held.length < 50, `${held.length} locks`);
  assert(typeof cursor === "string", "more follow");
});

testOnServer("query() ends its pages without a cursor, and lists the rest without a limit", async ({ store }) => {
  const names = Array.from({ length: 300 }, (_, i) => `${i}`);
  for (const name of names) await grant(store, claimOf(name));
  const all = await store.query();
  assertEquals(["cursor" in all, all.held.length], [false, 300]);
  const first = await store.query({ limit: 50 });
  const rest = await store.query({ cursor: first.cursor });
  assertEquals("cursor" in rest, false);
  const listed = new Set([...first.held, ...rest.held].map(({ name }) => name));
  assertEquals(listed.size, 300);
  const large = await store.query({ limit: 1_000 });
  assertEquals([large.cursor, large.held.length], [undefined, 300]);
});

testOnServer("query() lists on its pages also the locks that are only waited for", async ({ client, store }) => {
  const names = Array.from({ length: 60 }, (_, i) => i % 2 === 0 ? `${i}` : `${i}{a}}`);
  for (const name of names) {
    await grant(store, claimOf(name));
    await ask(store, claimOf(name));
    await client.del(`lock:${name}`);
  }
  const pages = await pagesOf(store, { limit: 7 });
  assertEquals([...new Set(pages.flat())].sort(), names.sort());
});

testOnServer("query() lists the names that match a pattern, and no others", async ({ server, client }) => {
  const names = [
    "a",
    "ab",
    "abc",
    "bc",
    "a*c",
    "a?c",
    "[a]c",
    "a\\c",
    "a{b}c",
    "x{ab",
    "}a",
    "a^-c",
    "aXbXcXd",
    "ü",
    "A",
  ];
  for (const keyPrefix of ["", "app:", "[*]"]) {
    const store = serverStore(server.connect({ keyPrefix }));
    for (const name of names) {
      await grant(store, claimOf(name));
      await ask(store, claimOf(name));
    }
    const expected: Record<string, (name: string) => boolean> = {
      "a*": (name) => name.startsWith("a"),
      "*c": (name) => name.endsWith("c"),
      "a*c": (name) => /^a.*c$/.test(name),
      "*b*": (name) => name.includes("b"),
      "**b***": (name) => name.includes("b"),
      "a*b*c*": (name) => /^a.*b.*c/.test(name),
      "*X*X*X*": (name) => name === "aXbXcXd",
      "a?c*": (name) => name === "a?c",
      "[a]*": (name) => name === "[a]c",
      "a\\*": (name) => name === "a\\c",
      "a^-*": (name) => name === "a^-c",
      "*{*": (name) => name.includes("{"),
      "a": (name) => name === "a",
      "a?c": (name) => name === "a?c",
      "": () => false,
      "*": () => true,
    };
    for (const [match, matches] of Object.entries(expected)) {
      const { held, pending } = await store.query({ match });
      const wanted = names.filter(matches).sort();
      for (const entries of [held, pending]) {
        assertEquals(entries.map(({ name }) => name).sort(), wanted, `${keyPrefix} ${match}`);
      }
      const pages = await pagesOf(store, { match, limit: 2 });
      assertEquals([...new Set(pages.flat())].sort(), wanted, `${keyPrefix} ${match}, in pages`);
    }
    await client.flushall();
  }
});

testOnServer("query() of one name searches for nothing", async ({ server, client, store }) => {
  const claims = ["a", "b*", "{c}"].map((name) => claimOf(name));
  for (const claim of claims) await grant(store, claim);
  const commands = await monitored(server, client, async () => {
    for (const { name, owner } of claims) {
      assertEquals((await store.query({ name })).held.map(({ handle }) => handle), [owner]);
    }
    const [{ name, owner }] = claims as [typeof claims[0], ...typeof claims];
    assertEquals((await store.query({ match: name })).held.map(({ handle }) => handle), [owner]);
    for (const name of ["", "b", "d"]) assertEquals(await store.query({ name }), { held: [], pending: [] });
  });
  assertEquals(commands.filter(([name]) => name === "scan"), []);
});

testOnServer("query() refuses options of the wrong kind, and cursors that it has not made", async ({ store }) => {
  const wrong: [options: object, error: new (...args: never[]) => Error, words: string][] = [
    [{ limit: 0 }, RangeError, "limit"],
    [{ cursor: 5 }, TypeError, "cursor"],
    [{ names: "a" }, TypeError, "names"],
    [{ name: "a", match: "a*" }, TypeError, "name and match"],
  ];
  for (const cursor of ["", "5", "2:0:", "0:x:", "0:-1:", `0:${2n ** 64n}:`, "0:0", "a:0:0:"]) {
    wrong.push([{ cursor }, RangeError, "cursor must be one that query() has returned"]);
  }
  for (const [options, error, words] of wrong) {
    await assertRejects(() => store.query(options as QueryOptions), error, words);
  }
  assertEquals(await store.query({ cursor: `1:${2n ** 64n - 1n}:`, limit: 1 }).then(({ held }) => held), []);
});

/** Lists the names of all pages. */
async function pagesOf(store: RedisStore, options: QueryOptions): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await store.query({ ...options, cursor });
    pages.push([...new Set([...page.held, ...page.pending].map(({ name }) => name))]);
    cursor = page.cursor;
    assert(pages.length < 1_000, "it ends");
  } while (cursor !== undefined);
  return pages;
}

/** Returns the commands that a server executes meanwhile, with their names in small letters. */
async function monitored(server: RedisServer, client: Redis, act: () => Promise<void>): Promise<string[][]> {
  await client.ping();
  const monitor = server.adopt(await client.monitor());
  const commands: string[][] = [];
  monitor.on(
    "monitor",
    (_time: string, [name = "", ...args]: string[]) => commands.push([name.toLowerCase(), ...args]),
  );
  await act();
  await client.echo("the end");
  await until(() => commands.at(-1)?.[1] === "the end", "the monitor has shown all");
  return commands;
}
