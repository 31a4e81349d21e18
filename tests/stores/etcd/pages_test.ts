// Deno only: it starts a server.
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { EtcdFetch } from "@holdfast/lock/etcd";
import type { EtcdBackend } from "../../../src/stores/etcd/store.ts";
import { Place, test } from "./place.ts";

Place.serve();

/** How many writes one transaction may have. */
const AT_ONCE = 128;

/** Names of which some begin with others, from the first to the last byte that UTF-8 has. */
const STRANGE = [
  "a",
  "a\0",
  "aa",
  "a".repeat(300),
  "a".repeat(301),
  "ab",
  "b",
  "b".repeat(50),
  "~",
  "ä",
  "äa",
  "\u{10ffff}",
];

/** Writes a key for each of these names. */
async function fill({ prefix }: Place, names: readonly string[]): Promise<void> {
  for (let i = 0; i < names.length; i += AT_ONCE) {
    const success = names.slice(i, i + AT_ONCE).map((name) => {
      return { request_put: { key: btoa(bytes(prefix + name)), value: btoa("x") } };
    });
    await Place.cluster.members[0]!.call("/v3/kv/txn", { success });
  }
}

/** Returns a text whose characters are the bytes of another. */
function bytes(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/** Returns the names on each page. */
async function pages(backend: EtcdBackend, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await backend.list(limit, cursor);
    pages.push(page.documents.map(({ key }) => key));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return pages;
}

/** Returns 5,000 names that begin alike, and go on like hashes. */
function invoices(): string[] {
  return Array.from({ length: 5_000 }, (_, i) => `invoice:${(i * 2_654_435_761 % 2 ** 32).toString(16)}`).sort();
}

test("list() gives each name once, in the order of their bytes, on full pages", async (place) => {
  const names = [...STRANGE, ...invoices().slice(0, 150)];
  await fill(place, names);
  const inOrder = names.toSorted((a, b) => bytes(a) < bytes(b) ? -1 : 1);
  for (const limit of [1, 7, 100, 1_000]) {
    const found = await pages(place.backend(), limit);
    assertEquals(found.flat(), inOrder);
    assert(found.slice(0, -1).every(({ length }) => length === limit), `pages of ${limit}`);
  }
});

test("list() has etcd visit few keys behind each page", async (place) => {
  const names = invoices();
  await fill(place, names);
  let visited = 0;
  const fetch: EtcdFetch = async (url, request) => {
    const response = await globalThis.fetch(url, request);
    visited += Number((await response.clone().json()).count ?? 0);
    return response;
  };
  assertEquals((await pages(place.backend({ fetch }), 100)).flat(), names);
  // It was 25 times their number.
  assert(visited < 10 * names.length, `${visited} keys`);
});

test("list() gives each name that stays, while others come and go between its requests", async (place) => {
  const [server] = Place.cluster.members;
  const names = invoices().slice(0, 600);
  const [staying, leaving] = [names.filter((_, i) => i % 2 === 0), names.filter((_, i) => i % 2 === 1)];
  await fill(place, names);
  let requests = 0;
  const fetch: EtcdFetch = async (url, request) => {
    // As if the process had slept: what is removed and made lies before, in and behind the page.
    for (const name of leaving.splice(0, 5)) {
      await server!.call("/v3/kv/deleterange", { key: btoa(bytes(place.prefix + name)) });
    }
    await fill(place, [`invoice:${requests}`, `invoice:f${requests}`, `other:${requests++}`]);
    return await globalThis.fetch(url, request);
  };
  const found = (await pages(place.backend({ fetch }), 50)).flat();
  assertEquals(new Set(found).size, found.length, "none twice");
  assertEquals(staying.filter((name) => !found.includes(name)), []);
  assert(requests > 12, `${requests} requests`);
});

test("list() whose second request is lost rejects, and gives the page the next time", async (place) => {
  // The page behind the first ends with names that begin otherwise, so that it takes several requests.
  const names = ["aa1", "aa2", "ab", "b", "c", "d"];
  await fill(place, names);
  const { cursor } = await place.backend().list(2);
  let requests = 0;
  const fetch: EtcdFetch = (url, request) => {
    return ++requests === 2 ? Promise.reject(new TypeError("cut")) : globalThis.fetch(url, request);
  };
  const backend = place.backend({ fetch });
  await assertRejects(() => backend.list(3, cursor), Error, "cut");
  const { documents } = await backend.list(3, cursor);
  assertEquals(documents.map(({ key }) => key), ["ab", "b", "c"]);
});

test("list() rejects for a cursor of another form or prefix", async (place) => {
  const key = btoa(`${place.prefix}a`);
  for (const cursor of ["", key, `${key}:`, `${key}:${btoa("other/")}`, `${key}:${key}:${key}`, "€:€"]) {
    await assertRejects(() => place.backend().list(1, cursor), RangeError, "cursor must be one that query()");
  }
});
