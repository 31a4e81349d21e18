// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import { acquire, type Store } from "@holdfast/lock";
import { type Backend, cas } from "@holdfast/lock/cas";
import { sqlite } from "@holdfast/lock/sqlite";
import { Documents, memoryBackend } from "../../engine/memory_backend.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { check } from "../../verification/history/check.ts";
import { type Grant, now } from "../../verification/history/history.ts";
import { DataDirectory } from "./directory.ts";
import { Inspector } from "./inspector.ts";
import { documentView } from "./documents.ts";
import { Trace } from "./trace.ts";
import { listView, type View } from "./view.ts";
import { Witness } from "./witness.ts";
import type { Remains } from "./work.ts";

/** How often the lock is acquired through each store, how long it is held and its lease, in milliseconds. */
const [TURNS, HELD, LEASE] = [3, 400, 100];

/** Acquires a lock through several stores at the same time, and returns the rules that were broken. */
async function broken(stores: readonly Store[]): Promise<string[]> {
  const grants: Grant[] = [];
  const use = async (store: Store) => {
    const start = now();
    const lock = await acquire(store, "a", { lease: LEASE, wait: HANG_MS });
    const end = now();
    let believed = start;
    while (now() < end + HELD && lock.held) {
      believed = now();
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    grants.push({ lock: "a", owner: lock.owner, fence: lock.fence, start, end, believed, acted: believed });
    await lock.release().catch(() => {});
  };
  await Promise.all(stores.map(async (store) => {
    for (let turn = 0; turn < TURNS; turn++) await use(store);
  }));
  const { violations } = check({ grants, releases: [], writes: [], breaches: [] });
  return [...new Set(violations.map(({ rule }) => rule))].sort();
}

Deno.test("check() finds two holders on a backend that ignores the version", async () => {
  for (const ignores of [false, true]) {
    const documents = new Documents();
    const backend: Backend<number> = memoryBackend(documents);
    const { write } = backend;
    if (ignores) {
      backend.write = (key, value, _, options) => write(key, value, documents.texts.get(key)?.version ?? 0, options);
    }
    const found = await broken([cas(backend), cas(backend)]);
    assertEquals(found.includes("one holder at a time"), ignores, `${found}`);
  }
});

Deno.test("check() finds two holders of a file on which a renewal extends nothing", async () => {
  for (const extendsNothing of [false, true]) {
    await using directory = new DataDirectory();
    using first = sqlite(`${directory.path}/locks.db`);
    using second = sqlite(`${directory.path}/locks.db`);
    if (extendsNothing) { for (const store of [first, second]) store.renew = () => Promise.resolve("renewed"); }
    const found = await broken([first, second]);
    assertEquals(found, extendsNothing ? ["one holder at a time"] : []);
  }
});

/** Releases a lock of a store that is watched, and returns what is found then. */
async function leftBy(store: Store, view: View): Promise<Remains[]> {
  const witness = new Witness(now);
  witness.watchHandles(witness.watch(store));
  const reported: Remains[] = [];
  // The clock runs so fast that it is not looked a third time.
  let time = 0;
  const inspector = new Inspector([view], () => time += 10_000, (remains) => reported.push(remains));
  const trace = new Trace();
  const lock = await witness.run(trace, () => acquire(store, "a", { lease: 60_000 }));
  witness.granted(trace, "a", lock.fence);
  await lock.release();
  trace.end();
  await Promise.all(trace.leftovers("released").map((leftover) => inspector.over("a", leftover)));
  await until(() => reported.length > 0, "it is reported");
  return reported;
}

for (const kind of ["a file", "a document"]) {
  Deno.test(`Inspector.over() finds in ${kind} that a release was never sent`, async () => {
    for (const sent of [true, false]) {
      await using directory = new DataDirectory();
      using file = sqlite(`${directory.path}/locks.db`);
      const backend = memoryBackend(new Documents()) as Backend;
      const [store, view] = kind === "a file" ? [file, listView(file)] : [cas(backend), documentView(backend)];
      if (!sent) store.release = () => Promise.resolve(true);
      const [remains, ...more] = await leftBy(store, view);
      assertEquals([remains?.atOnce, remains?.gone, more.length], [!sent, sent, 0]);
    }
  });
}
