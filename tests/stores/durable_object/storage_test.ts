// Deno only: it needs node:v8, which workerd does not have.
import { assert, assertEquals } from "@std/assert";
import { serialize } from "node:v8";
import { StoredDocuments } from "../../../src/stores/durable_object/storage.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { MemoryStorage } from "./host.ts";

const NAME = "a";

function place() {
  const clock = new VirtualClock();
  const storage = new MemoryStorage();
  return { clock, storage, documents: new StoredDocuments(storage, clock) };
}

/** Writes, which must be possible, and returns the version. */
async function write(documents: StoredDocuments, text: string, version: number): Promise<number> {
  const result = await documents.write(NAME, text, version, {});
  assert(result.written);
  return result.version;
}

Deno.test("StoredDocuments.write() refuses another version than the last one", async () => {
  const { storage, documents } = place();
  const { version } = await documents.read(NAME);
  const next = await write(documents, "one", version);
  for (const old of [version, next + 1]) {
    assertEquals(await documents.write(NAME, "two", old, {}), { written: false });
  }
  assertEquals([(await documents.read(NAME)).value, storage.writes], ["one", 1]);
});

Deno.test("StoredDocuments.write() refuses what is too early by the clock", async () => {
  const { clock, documents } = place();
  const { version, time } = await documents.read(NAME);
  assertEquals(time, clock.now().wall);
  const notBefore = clock.now().wall + 1;
  assertEquals(await documents.write(NAME, "one", version, { notBefore }), { written: false });
  clock.stall(1);
  assertEquals(await documents.write(NAME, "one", version, { notBefore }), {
    written: true,
    version: version + 1,
    time: notBefore,
  });
});

Deno.test("StoredDocuments.delete() refuses another version than the last one", async () => {
  const { documents } = place();
  const first = await write(documents, "one", 0);
  const second = await write(documents, "two", first);
  assertEquals(await documents.delete(NAME, first), false);
  assertEquals((await documents.read(NAME)).value, "two");
  assertEquals(await documents.delete(NAME, second), true);
  assertEquals((await documents.read(NAME)).value, undefined);
});

Deno.test("StoredDocuments gives no version twice, also when a document was removed", async () => {
  const { documents } = place();
  const version = await write(documents, "one", 0);
  await documents.delete(NAME, version);
  assertEquals(await documents.write(NAME, "late", 0, {}), { written: false });
  assert((await documents.read(NAME)).version > version);
});

Deno.test("StoredDocuments.write() that fails has raised the version", async () => {
  const { storage, documents } = place();
  storage.onWrite = () => Promise.reject(new Error("full"));
  await documents.write(NAME, "one", 0, {}).catch(() => {});
  assertEquals(await documents.write(NAME, "two", 0, {}), { written: false });
});

Deno.test("StoredDocuments.names() lists the locks, whatever their names", async () => {
  const { storage, documents } = place();
  storage.values.set("other", 1);
  for (const name of ["a", "lock:", "\u{1f512}"]) await documents.write(name, "one", 0, {});
  assertEquals(await documents.names(), ["a", "lock:", "\u{1f512}"]);
});

for (const letter of ["x", "\u20ac"]) {
  Deno.test(`write() takes no more than 128 KiB for the largest document of ${letter}`, async () => {
    const { storage, documents } = place();
    // As long as an owner may be.
    const owner = letter.repeat(letter === "x" ? 1_023 : 341);
    for (let i = 0; i < 100; i++) documents.calls.accept(`store ${owner}${i}/${crypto.randomUUID()}`, i, i);
    await write(documents, `${letter}${"x".repeat(documents.maxBytes - 3)}`, 0);
    const [value] = storage.values.values();
    assert(serialize(value).length <= 128 * 1_024, `${serialize(value).length} bytes`);
  });
}
