import { assert, assertEquals } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import type { KeyVersion } from "@holdfast/lock/cas";
import { hashOf } from "../../src/internal/hash.ts";
import { claimOf, grant } from "../support/claims.ts";
import { warningsOf } from "../support/warnings.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { Place } from "./controlled_backend.ts";

const DAY = 24 * 3_600_000;

/** Uses names, waits, and returns which documents are there after a sweep. */
async function swept(place: Place, days: number): Promise<string[]> {
  const { store } = place.connect();
  place.clock.stall(days * DAY);
  // It may be refused, and pause.
  const released = store.release(claimOf("z"));
  await place.clock.advance(1_000);
  await released;
  return place.names();
}

async function use(place: Place, name: string): Promise<void> {
  const { store } = place.connect();
  const claim = claimOf(name);
  await grant(store, claim);
  await store.release(claim);
}

Deno.test("DocumentSweeper removes what was not used for 7 days", async () => {
  const place = new Place();
  await use(place, "a");
  assertEquals(await swept(place, 6.9), ["a", "z"]);
  assertEquals(await swept(place, 0.2), ["z"]);
});

Deno.test("DocumentSweeper removes no lock that is held, however old", async () => {
  const place = new Place();
  await grant(place.connect().store, claimOf("a", "exclusive", 1_000));
  assertEquals(await swept(place, 80), ["a", "z"]);
});

Deno.test("DocumentSweeper removes no document with a fence ahead of the clock", async () => {
  const place = new Place();
  place.clock.setWall(90 * DAY);
  await use(place, "a");
  const { value } = place.documents.texts.get("a")!;
  place.clock.setWall(-90 * DAY);
  const { used, ...fields } = JSON.parse(value);
  place.documents.set("a", JSON.stringify({ ...fields, used: used - 90 * DAY }));
  assertEquals(await swept(place, 80), ["a", "z"]);
  assertEquals(await swept(place, 11), ["z"]);
});

Deno.test("DocumentSweeper leaves out what it cannot read, and what it cannot remove", async () => {
  const place = new Place();
  for (const name of ["a", "b", "c"]) await use(place, name);
  place.documents.set("a", "a text of another program");
  assertEquals(await swept(place, 8), ["a", "z"]);
});

Deno.test("DocumentSweeper warns once that it may not remove, and not of what may pass", async () => {
  const place = new Place();
  for (const name of ["a", "b", "c"]) await use(place, name);
  const { store, backend } = place.connect();
  const faults: Error[] = [new Error("cut off"), new StoreError("busy"), new StoreError("denied", { permanent: true })];
  const tried: string[] = [];
  const remove = (documents: readonly KeyVersion[]) => {
    tried.push(documents.map(({ key }) => key).join());
    return Promise.reject(faults.shift() ?? new StoreError("denied again", { permanent: true }));
  };
  Object.assign(backend, { remove });
  const warnings = await warningsOf(async () => {
    for (let i = 0; i < 4; i++) {
      place.clock.stall(8 * DAY);
      await store.release(claimOf("z"));
      await place.clock.advance(0);
    }
  });
  assertEquals(tried, ["a,b,c", "a,b,c,z", "a,b,c,z", "a,b,c,z"]);
  assertEquals(warnings, ["Locks that nobody has used for 7 days are not removed: denied"]);
});

Deno.test("DocumentSweeper goes by the server's clock, where it has one", async () => {
  for (const wrong of [9 * DAY, -9 * DAY]) {
    const place = new Place({ ahead: 3_600_000 });
    await use(place, "old");
    place.clock.stall(8 * DAY);
    await use(place, "new");
    const clock = new VirtualClock();
    clock.setWall(place.clock.now().wall - clock.now().wall + wrong);
    const { store } = place.connect({ clock });
    clock.stall(61_000);
    await store.release(claimOf("z"));
    await clock.advance(0);
    assertEquals(place.names(), ["new", "z"]);
  }
});

Deno.test("DocumentSweeper comes to the documents behind its first page, and begins anew", async () => {
  const place = new Place();
  for (let i = 0; i < 20; i++) await use(place, `b${i}`);
  place.clock.stall(8 * DAY);
  const inUse = Array.from({ length: 100 }, (_, i) => `a${i}`);
  for (const name of inUse) await use(place, name);
  const { store } = place.connect();
  const sweep = async () => {
    place.clock.stall(61_000);
    const released = store.release(claimOf("a0"));
    await place.clock.advance(1_000);
    await released;
  };
  for (let page = 0; page < 2; page++) await sweep();
  assertEquals(place.names(), inUse.sort());
  place.clock.stall(8 * DAY);
  for (let page = 0; page < 2; page++) await sweep();
  assertEquals(place.names(), ["a0"]);
});

Deno.test("DocumentSweeper reads a page a minute at the most", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  let pages = 0;
  const { list } = backend;
  Object.assign(backend, { list: (...args: Parameters<typeof list>) => (pages++, list(...args)) });
  for (let second = 0; second < 125; second++) {
    await place.clock.advance(1_000);
    await store.release(claimOf("z"));
  }
  assertEquals(pages, 2);
});

/** Names that are made without a page, and those that a page is due for. */
const [OTHERS, DUE] = [false, true].map((isDue) => {
  return Array.from({ length: 20_000 }, (_, i) => `name ${i}`).filter((name) => hashOf(name) % 25 === 0 === isDue);
}) as [string[], string[]];

Deno.test("DocumentSweeper looks at four documents for each that is made, by whoever", async () => {
  const place = new Place();
  for (let i = 0; i < 1_000; i++) place.documents.set(`old ${i}`, "no document");
  let listed = 0;
  for (let i = 0; i < 2_000; i++) {
    // Each process lives for one name.
    const { store, backend } = place.connect();
    const { list } = backend;
    Object.assign(backend, {
      list: async (...args: Parameters<typeof list>) => {
        const page = await list(...args);
        listed += page.documents.length;
        return page;
      },
    });
    const claim = claimOf(`new ${i}`);
    await grant(store, claim);
    await store.release(claim);
    await place.clock.advance(0);
  }
  assert(listed > 6_500 && listed < 9_500, `${listed}`);
});

Deno.test("DocumentSweeper removes more than is made, by processes that make one name each", async () => {
  const place = new Place();
  for (const name of OTHERS.slice(0, 200)) await use(place, name);
  place.clock.stall(8 * DAY);
  for (const name of DUE.slice(0, 10)) {
    await use(place, name);
    await place.clock.advance(0);
  }
  assertEquals(place.names(), DUE.slice(0, 10).sort());
});

Deno.test("DocumentSweeper goes on from where another process stopped", async () => {
  const place = new Place();
  for (const name of OTHERS.slice(0, 250)) await use(place, name);
  const cursors: unknown[] = [];
  for (const name of DUE.slice(0, 4)) {
    const { store, backend } = place.connect();
    const { list } = backend;
    Object.assign(backend, { list: (...args: Parameters<typeof list>) => (cursors.push(args[1]), list(...args)) });
    await grant(store, claimOf(name));
    await place.clock.advance(0);
  }
  const keys = [...OTHERS.slice(0, 250), ...DUE.slice(0, 4)].sort();
  const [first, second, third, fourth] = cursors;
  assertEquals([first, fourth], [undefined, undefined]);
  assert(second! < third! && keys.includes(`${second}`), `${cursors}`);
});

Deno.test("DocumentSweeper looks at another page than those that look at the same time", async () => {
  const place = new Place();
  for (const name of OTHERS.slice(0, 320)) await use(place, name);
  place.clock.stall(8 * DAY);
  const names = DUE.slice(0, 4);
  const stores = names.map(() => place.connect().store);
  await Promise.all(names.map((name, i) => grant(stores[i]!, claimOf(name))));
  await place.clock.advance(0);
  assertEquals(place.names(), names.sort());
});

Deno.test("DocumentSweeper begins anew at a position that is no cursor", async () => {
  for (const error of [new RangeError("cursor"), new TypeError("cursor")]) {
    const place = new Place();
    await use(place, "a");
    place.documents.set("", "written by hand");
    const { store, backend } = place.connect();
    const { list } = backend;
    Object.assign(backend, {
      list: (...args: Parameters<typeof list>) => args[1] === undefined ? list(...args) : Promise.reject(error),
    });
    place.clock.stall(8 * DAY);
    await store.release(claimOf("z"));
    await place.clock.advance(0);
    assertEquals(place.names(), ["z"]);
    assertEquals(place.documents.found("").value, "");
  }
});

Deno.test("DocumentSweeper keeps no position where one page has all documents", async () => {
  const place = new Place();
  await use(place, DUE[0]!);
  assertEquals(await swept(place, 1), [DUE[0], "z"].sort());
  assertEquals(place.documents.found("").version, 0);
});

Deno.test("DocumentSweeper looks at one page at a time, and gives up what is not answered", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  let lists = 0;
  Object.assign(backend, { list: () => (lists++, new Promise(() => {})) });
  for (const name of DUE.slice(0, 3)) await grant(store, claimOf(name));
  assertEquals(lists, 1);
  await place.clock.advance(2_001);
  assertEquals(lists, 1);
  await grant(store, claimOf(DUE[3]!));
  await place.clock.advance(0);
  assertEquals(lists, 2);
});

Deno.test("DocumentSweeper does not warn of a client that was closed", async () => {
  const place = new Place();
  const { store, backend } = place.connect();
  Object.assign(backend, { list: () => Promise.reject(new StoreError("closed", { permanent: true })), closed: true });
  const warnings = await warningsOf(async () => {
    await grant(store, claimOf(DUE[0]!));
    await place.clock.advance(0);
  });
  assertEquals(warnings, []);
});
