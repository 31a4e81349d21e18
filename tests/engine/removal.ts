import { assert, assertEquals } from "@std/assert";
import type { Backend } from "../../src/engine/mod.ts";
import { formatDocument, LockDocument } from "../../src/engine/document.ts";
import { CasStore } from "../../src/engine/store.ts";
import { POSITION } from "../../src/engine/sweeper.ts";
import { hashOf } from "../../src/internal/hash.ts";
import { SystemClock } from "../../src/time/clock.ts";
import { claimOf, grant } from "../support/claims.ts";
import { until } from "../support/until.ts";

const DAY = 24 * 3_600_000;

/** Names for which a page is due when they are made. */
export const DUE: readonly string[] = Array.from({ length: 10_000 }, (_, i) => `new "é" ${i}`).filter((name) => {
  return hashOf(name) % 25 === 0;
});

/** Writes documents that were used 8 days ago. Returns their names, and the version of each. */
async function makeOld<V>(backend: Backend<V>, names: number): Promise<{ key: string; version: V }[]> {
  const document = new LockDocument();
  document.used = Date.now() - 8 * DAY;
  document.fence = BigInt(document.used) * 1_000n;
  return await Promise.all(Array.from({ length: names }, async (_, i) => {
    const key = `old ' \\ "é" ${i}`;
    const written = await backend.write(key, formatDocument(key, document), (await backend.read(key)).version, {});
    assert(written.written);
    return { key, version: written.version };
  }));
}

async function keysOf<V>(backend: Backend<V>): Promise<string[]> {
  const { documents, cursor } = await backend.list!(1_000, undefined);
  assertEquals(cursor, undefined);
  return documents.map(({ key }) => key).filter((key) => key !== POSITION).sort();
}

/** Asserts that a backend removes many documents in one call, each only if it is as it was listed. */
export async function assertRemovesMany<V>(backend: Backend<V>): Promise<void> {
  const old = await makeOld(backend, 100);
  const [first, second] = old as [typeof old[0], typeof old[0]];
  const written = await backend.write(first.key, "used again", first.version, {});
  assert(written.written);
  const exchanged = { key: second.key, version: written.version };
  assertEquals(await backend.remove!([first, exchanged]), 0);
  assertEquals(await backend.remove!(old.slice(0, 99)), 98);
  assertEquals(await keysOf(backend), [first.key, old[99]!.key].sort());
  assertEquals(await backend.remove!([{ key: first.key, version: written.version }, old[99]!]), 2);
  assertEquals(await keysOf(backend), []);
}

/** How many names are made until all that is old is gone: three, unless a page takes so long that it is given up. */
const MOST_MADE = 20;

/** How long a page is waited for that may have been given up, in milliseconds. */
const GIVEN_UP_MS = 3_000;

/** Asserts that stores that make few names each remove what is old, page by page, and nothing else. */
export async function assertSweeps<V>(backend: Backend<V>): Promise<void> {
  await makeOld(backend, 240);
  const connect = () =>
    new CasStore(backend as Backend, { maxClockSkew: 10_000, observer: undefined }, new SystemClock());
  const first = connect();
  await grant(first, claimOf("held", "exclusive", 60_000));
  const left = async () => (await keysOf(backend)).filter((key) => key.startsWith("old")).length;
  const made: string[] = [];
  for (let before = await left(); before > 0; before = await left()) {
    assert(made.length < MOST_MADE, `${before} old documents are left`);
    const { value: position } = await backend.read(POSITION);
    const name = DUE[made.length]!;
    made.push(name);
    await grant(connect(), claimOf(name));
    const isSwept = async () => await left() < before && (await backend.read(POSITION)).value !== position;
    // What was given up is done with the next name.
    await until(isSwept, "a page is looked at", GIVEN_UP_MS).catch(() => {});
  }
  const names = ["held", ...made].sort();
  assertEquals(await keysOf(backend), names);
  const { held } = await first.query!();
  assertEquals(held.map(({ name }) => name).sort(), names);
}
