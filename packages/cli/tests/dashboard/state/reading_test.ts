import { assertEquals, assertRejects } from "@std/assert";
import type { QueryOptions, Snapshot } from "@holdfast/lock";
import { canEvict, canList, readList, readLock, readPage } from "../../../src/dashboard/state/reading.ts";
import { SystemClock } from "../../../../../src/time/clock.ts";
import { VirtualClock } from "../../../../../tests/support/virtual_clock.ts";
import { hold, stillStore, storeWith } from "../visit.ts";

const clock = new SystemClock();

function heldBy(...names: string[]): Snapshot {
  const held = names.map((name) => ({ name, owner: `owner of ${name}`, handle: name, mode: "exclusive" as const }));
  return { held, pending: [] };
}

Deno.test("readPage() gives the locks in the order of their names, with the next cursor", async () => {
  const store = stillStore();
  for (const name of ["b", "c", "a"]) await hold(store, name);
  const first = await readPage(store, { limit: 2 }, clock);
  assertEquals(first.locks.map(({ name }) => name), ["a", "b"]);
  const second = await readPage(store, { limit: 2, cursor: first.cursor! }, clock);
  assertEquals(second.locks.map(({ name }) => name), ["c"]);
  assertEquals(second.cursor, undefined);
});

Deno.test("readPage() goes on until it has as many as asked for", async () => {
  const pages: Record<string, Snapshot> = {
    "": { ...heldBy(), cursor: "1" },
    "1": { ...heldBy("a"), cursor: "2" },
    "2": { ...heldBy("b"), cursor: "3" },
    "3": { ...heldBy("c"), cursor: "4" },
  };
  const asked: QueryOptions[] = [];
  const store = storeWith({
    query: (options = {}) => {
      asked.push(options);
      return Promise.resolve(pages[options.cursor ?? ""]!);
    },
  });
  const { locks, cursor } = await readPage(store, { limit: 2, match: "*" }, clock);
  assertEquals([locks.map(({ name }) => name), cursor], [["a", "b"], "3"]);
  assertEquals(asked, [
    { limit: 2, match: "*" },
    { limit: 2, match: "*", cursor: "1" },
    { limit: 1, match: "*", cursor: "2" },
  ]);
});

Deno.test("readPage() ends after a second when the store finds nothing", async () => {
  const time = new VirtualClock();
  let asked = 0;
  const store = storeWith({
    query: () => {
      asked++;
      time.stall(300);
      return Promise.resolve({ ...heldBy(), cursor: "more" });
    },
  });
  assertEquals(await readPage(store, { limit: 10 }, time), { locks: [], cursor: "more" });
  assertEquals(asked, 4);
});

Deno.test("readPage() leaves out what a store without a filter lists too", async () => {
  const store = storeWith({ query: () => Promise.resolve(heldBy("a:1", "b:1", "a:2")) });
  const { locks } = await readPage(store, { limit: 10, match: "a:*" }, clock);
  assertEquals(locks.map(({ name }) => name), ["a:1", "a:2"]);
});

/** A store that never comes to its end: each page has as many locks, and takes as long, as a test says. */
function endless(time: VirtualClock, { locks, ms }: { locks: number; ms: number }) {
  let pages = 0;
  const store = storeWith({
    query: () => {
      time.stall(ms);
      pages++;
      return Promise.resolve({
        ...heldBy(...Array.from({ length: locks }, (_, i) => `${pages}/${i}`)),
        cursor: `${pages}`,
      });
    },
  });
  return store;
}

Deno.test("readList() ends with 20,000 locks, and says where", async () => {
  const time = new VirtualClock();
  const { locks, cursor } = await readList(endless(time, { locks: 1_000, ms: 1 }), {}, time);
  assertEquals([locks.length, cursor], [20_000, "20"]);
});

Deno.test("readList() ends after two seconds, and says where", async () => {
  const time = new VirtualClock();
  const { locks, cursor } = await readList(endless(time, { locks: 10, ms: 300 }), {}, time);
  assertEquals([locks.length, cursor], [70, "7"]);
});

Deno.test("readList() ends when nobody looks any more", async () => {
  const time = new VirtualClock();
  const { locks } = await readList(endless(time, { locks: 10, ms: 1 }), {}, time, AbortSignal.abort());
  assertEquals(locks.length, 10);
});

Deno.test("readLock() gives a lock that nobody holds without entries", async () => {
  assertEquals(await readLock(stillStore(), "a", clock), { name: "a", held: [], pending: [] });
});

Deno.test("readLock() gives that lock alone", async () => {
  const store = storeWith({ query: () => Promise.resolve(heldBy("a", "b")) });
  assertEquals((await readLock(store, "b", clock)).held.map(({ handle }) => handle), ["b"]);
});

Deno.test("readLock() rejects when the store does not answer within 10 s", async () => {
  const time = new VirtualClock();
  const read = readLock(storeWith({ query: () => new Promise(() => {}) }), "a", time);
  const rejected = assertRejects(() => read, Error, "no answer within 10 s");
  await time.advance(10_000);
  await rejected;
  assertEquals(time.pending, 0);
});

Deno.test("readLock() leaves no timer behind when the store throws", async () => {
  const time = new VirtualClock();
  const store = storeWith({
    query: () => {
      throw new Error("broken");
    },
  });
  await assertRejects(() => readLock(store, "a", time), Error, "broken");
  await time.advance(0);
  assertEquals(time.pending, 0);
});

Deno.test("canList() and canEvict() go by the method and what the store declares", () => {
  const { query: _, evict: __, ...without } = storeWith({});
  assertEquals([canList(stillStore()), canEvict(stillStore())], [true, true]);
  assertEquals([canList(without), canEvict(without)], [false, false]);
  const undeclared = storeWith({ capabilities: ["shared"] });
  assertEquals([canList(undeclared), canEvict(undeclared)], [false, false]);
});
