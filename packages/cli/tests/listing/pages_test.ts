import { assertEquals } from "@std/assert";
import type { QueryOptions, Snapshot } from "@holdfast/lock";
import { lockPages, readPages, type WantedPage } from "../../src/listing/pages.ts";

function heldBy(...names: string[]): Snapshot {
  return { held: names.map((name) => ({ name, owner: name, handle: name, mode: "exclusive" })), pending: [] };
}

/** A store with three pages, the second one empty and the third one with a lock of the first. */
const PAGES: Record<string, Snapshot> = {
  "": { ...heldBy("b", "c"), cursor: "1" },
  "1": { ...heldBy(), cursor: "2" },
  "2": heldBy("b", "a"),
};

/** Reads the locks of that store; returns their names, where the listing was cut, and what the store was asked for. */
async function read(which: WantedPage, isEnough?: (locks: number) => boolean) {
  const asked: QueryOptions[] = [];
  const ask = (options: QueryOptions) => {
    asked.push(options);
    return Promise.resolve(PAGES[options.cursor ?? ""]!);
  };
  const { locks, cursor } = await readPages(lockPages(ask, which), isEnough);
  return { names: locks.map(({ name }) => name), cursor, asked };
}

Deno.test("readPages() reads all pages, and lists a lock once that is on two of them", async () => {
  const { names, cursor, asked } = await read({});
  assertEquals([names, cursor], [["b", "c", "a"], undefined]);
  assertEquals(asked, [{ limit: 500 }, { limit: 500, cursor: "1" }, { limit: 500, cursor: "2" }]);
});

Deno.test("readPages() says where it has cut the listing", async () => {
  const { names, cursor, asked } = await read({}, (locks) => locks >= 2);
  assertEquals([names, cursor, asked.length], [["b", "c"], "1", 1]);
});

Deno.test("readPages() has cut nothing if the last page was enough", async () => {
  const { names, cursor } = await read({}, (locks) => locks >= 3);
  assertEquals([names, cursor], [["b", "c", "a"], undefined]);
});

Deno.test("lockPages() begins where it is told to, and leaves out what does not match", async () => {
  const { names, asked } = await read({ match: "a*", cursor: "1" });
  assertEquals(names, ["a"]);
  assertEquals(asked, [{ match: "a*", limit: 500, cursor: "1" }, { match: "a*", limit: 500, cursor: "2" }]);
});

Deno.test("lockPages() asks for a single name without a limit", async () => {
  const { names, asked } = await read({ name: "b" });
  assertEquals(names, ["b"]);
  assertEquals(asked[0], { name: "b" });
});
