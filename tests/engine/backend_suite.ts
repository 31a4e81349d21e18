import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { type Backend, cas } from "@holdfast/lock/cas";
import { refused } from "../support/refused.ts";
import { assertRemovesMany, assertSweeps } from "./removal.ts";

/** What none of the servers may change, shorten, take for another one or for a part of a statement or path. */
const NAMES: readonly string[] = [
  ...Array.from({ length: 256 }, (_, code) => `byte ${String.fromCharCode(code)}`),
  ...["a", "A", "a ", "a\0", "a\0b", "\0", " ", "é", "e\u0301", "\u{feff}", "\uffff", "\u{1f512}", "\u{10ffff}"],
  ...["/", ".", "..", "../x", "%2F", "%s", "?", "??", "$1", ":a", "'", "''", '"', "\\", "\\'", "$$", "--", "/*!*/"],
  ...["'; DROP TABLE holdfast_locks; --", "'), ('x', 'y', 'z'); COMMIT; --", "x".repeat(1_000), "é".repeat(512)],
];

/** How many documents are written at a time. */
const AT_ONCE = 20;

/** Opens another backend of the same documents, as another process has it. */
export type Open<V> = () => Backend<V> | Promise<Backend<V>>;

/** Returns a document of a lock, as far as a backend looks at it, that has all names. */
function textOf(name: string): string {
  return JSON.stringify({ name, names: NAMES.join("") });
}

/** Asserts that a backend has kept a document: it may write its characters in another way. */
function assertKept(value: string | undefined, text: string, name: string): void {
  assert(value !== undefined && JSON.stringify(JSON.parse(value)) === text, JSON.stringify(name));
}

/** Asserts that a backend without documents keeps each name, and lists each once where it lists. */
export async function assertKeepsAll<V>(backend: Backend<V>): Promise<void> {
  const began = Date.now();
  for (let i = 0; i < NAMES.length; i += AT_ONCE) {
    await Promise.all(
      NAMES.slice(i, i + AT_ONCE).map(async (name) => {
        const { value, version } = await backend.read(name);
        assertEquals(value, undefined, JSON.stringify(name));
        assert((await backend.write(name, textOf(name), version, {})).written, JSON.stringify(name));
      }),
    );
  }
  for (const name of NAMES) {
    const { value, time = began } = await backend.read(name);
    assertKept(value, textOf(name), name);
    // By the server's clock, which is that of this machine and may have fractions.
    const moments = [began, Math.floor(time), Date.now()];
    assertEquals(moments, moments.toSorted((a, b) => a - b), "before, by the server, after");
  }
  for (const limit of backend.list === undefined ? [] : [67, NAMES.length, 1_000]) {
    const listed: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await backend.list!(limit, cursor);
      assert(page.documents.length <= limit, `${page.documents.length} of ${limit}`);
      for (const { key, value } of page.documents) assertKept(value, textOf(key), key);
      listed.push(...page.documents.map(({ key }) => key));
      cursor = page.cursor;
    } while (cursor !== undefined);
    assertEquals(listed.sort(), NAMES.toSorted());
  }
}

/** What every backend does that reads and writes. */
const READS: Readonly<Record<string, (open: Open<unknown>) => Promise<void>>> = {
  "keeps each name and text, and lists them": async (open) => await assertKeepsAll(await open()),

  "keeps the largest text": async (open) => {
    const backend = await open();
    const text = JSON.stringify("€".repeat(Math.floor((backend.maxBytes ?? 1_000_000) / 3) - 1));
    assert((await backend.write("a", text, (await backend.read("a")).version, {})).written);
    assertKept((await backend.read("a")).value, text, "a");
  },

  "writes over the given version only": async (open) => {
    const backend = await open();
    const write = async (key: string, value: string, version: unknown) => {
      const result = await backend.write(key, value, version, {});
      const present = await backend.read(key);
      if (result.written) assertEquals([present.value, present.version], [value, result.version]);
      else if (result.found !== undefined) assertEquals(result.found.value, present.value);
      return result.written ? result.version : "refused";
    };
    const { value, version: absent } = await backend.read("a");
    assertEquals(value, undefined);
    const first = await write("a", "one", absent);
    assertEquals(await write("a", "two", absent), "refused");
    const second = await write("a", "two", first);
    assert(second !== first && second !== "refused", `${second} follows ${first}`);
    assertEquals(await write("a", "three", first), "refused");
    assertEquals(await write("b", "three", first), "refused");
    assertEquals([(await backend.read("a")).value, (await backend.read("b")).value], ["two", undefined]);
  },

  "writes one of three texts at a time": async (open) => {
    const backends = [await open(), await open(), await open()];
    let { version } = await backends[0]!.read("a");
    for (let round = 0; round < 30; round++) {
      const results = await Promise.all(backends.map((backend, i) => backend.write("a", `${i}`, version, {})));
      const winners = results.flatMap(({ written }, i) => written ? [`${i}`] : []);
      const found = await backends[round % 3]!.read("a");
      assertEquals(winners, [found.value], `round ${round}`);
      version = found.version;
    }
  },

  "says what it found that is no document": async (open) => {
    const backend = await open();
    await backend.write("a", "a text", (await backend.read("a")).version, {});
    await refused(() => acquire(cas(backend), "a"), "is no document");
  },
};

/** What those do that list and remove as well. */
const LISTS: typeof READS = {
  "removes the given version only": async (open) => {
    const backend = await open();
    const { version: absent } = await backend.read("a");
    const versions = [absent];
    for (const text of ["one", "two"]) {
      const result = await backend.write("a", text, versions.at(-1), {});
      assert(result.written);
      versions.push(result.version);
    }
    const last = versions.pop();
    for (const version of versions) assertEquals(await backend.remove!([{ key: "a", version }]), 0);
    assertEquals((await backend.read("a")).value, "two");
    assertEquals(await backend.remove!([{ key: "a", version: last }]), 1);
    assertEquals(await backend.remove!([{ key: "a", version: last }]), 0);
    const { value, version } = await backend.read("a");
    assertEquals([value, version], [undefined, absent]);
    assertEquals((await backend.write("a", "old", last, {})).written, false);
    assertEquals((await backend.write("a", "new", absent, {})).written, true);
  },

  "refuses a cursor that it has not returned": async (open) => {
    const backend = await open();
    for (const cursor of ["€", "' OR 1 = 1 --"]) {
      await assertRejects(() => backend.list!(2, cursor), RangeError, "cursor must be one that query() has returned");
    }
  },

  "removes many at a time": async (open) => await assertRemovesMany(await open()),

  "removes what is old, page by page": async (open) => await assertSweeps(await open()),
};

/**
 * Defines the tests that every backend of the engine must pass.
 *
 * @param test defines a test that begins without documents
 * @param lists whether the backend lists and removes documents
 */
export function backendSuite<V>(
  test: (what: string, run: (open: Open<V>) => Promise<void>) => void,
  { lists = true }: { readonly lists?: boolean } = {},
): void {
  for (const [what, run] of Object.entries(lists ? { ...READS, ...LISTS } : READS)) {
    test(what, (open) => run(open as Open<unknown>));
  }
}
