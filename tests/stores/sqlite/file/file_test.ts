import { assert, assertEquals, assertRejects } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { LockFile } from "../../../../src/stores/sqlite/file/file.ts";
import { settled } from "../../../support/virtual_clock.ts";
import { type Fixture, testWithFixture } from "../fixture.ts";

/** A connection of its own, closed at the end. */
class Writer implements Disposable {
  readonly file: LockFile;
  readonly #fixture: Fixture;
  /** What was done, in order: `run` is in the transaction, `done` when the caller was notified. */
  readonly events: string[] = [];

  constructor(fixture: Fixture) {
    this.#fixture = fixture;
    this.file = new LockFile(fixture.path, fixture.clock);
  }

  /** A write that takes so many milliseconds; fails with the error, if there is one. */
  write(name: string, ms = 0, error: Error | undefined = undefined): Promise<void> {
    return this.file.write(() => {
      this.events.push(`run ${name}`);
      this.#fixture.clock.stall(ms);
      if (error !== undefined) throw error;
    }).then(() => void this.events.push(`done ${name}`), () => void this.events.push(`failed ${name}`));
  }

  [Symbol.dispose](): void {
    this.file.close(() => {});
  }
}

testWithFixture("LockFile.write() does its work before it returns when little was written lately", async (fixture) => {
  using writer = new Writer(fixture);
  // Milliseconds of writing are made up for by as many of doing nothing; fewer than four need not be.
  for (const [i, [pause, atOnce]] of ([[0, true], [1, true], [4, true], [3, false], [1, true]] as const).entries()) {
    await fixture.clock.advance(pause);
    const written = writer.write(`${i}`, 4);
    assertEquals(writer.events.includes(`run ${i}`), atOnce, `write ${i}`);
    await written;
  }
});

testWithFixture("LockFile.write() lets the event loop turn after four milliseconds of writing", async (fixture) => {
  using writer = new Writer(fixture);
  const writes = [writer.write("a", 3), writer.write("b", 1), writer.write("c", 1)];
  assertEquals(writer.events, ["run a", "run b"]);
  await Promise.all(writes);
  assertEquals(writer.events, ["run a", "run b", "done a", "done b", "run c", "done c"]);
});

testWithFixture("LockFile.write() counts the writing anew once the event loop has turned", async (fixture) => {
  using writer = new Writer(fixture);
  await Promise.all([writer.write("a", 4), writer.write("b", 3)]);
  const written = writer.write("c");
  assertEquals(writer.events.at(-1), "run c", "at once: only three milliseconds count");
  await written;
});

testWithFixture("LockFile.write() makes no transaction longer than four milliseconds", async (fixture) => {
  using writer = new Writer(fixture);
  await writer.write("first");
  writer.events.length = 0;
  const other = fixture.lock();
  const writes = ["a", "b", "c", "d", "e"].map((name) => writer.write(name, 2));
  other[Symbol.dispose]();
  await fixture.clock.advance(100);
  await Promise.all(writes);
  assertEquals(writer.events, [
    ...["run a", "run b", "done a", "done b", "run c", "run d", "done c", "done d", "run e", "done e"],
  ]);
});

testWithFixture("LockFile.write() that fails is undone alone; later ones share transactions", async (fixture) => {
  using writer = new Writer(fixture);
  await writer.write("first");
  for (let round = 0; round < 2; round++) {
    writer.events.length = 0;
    let other = fixture.lock();
    const writes = [writer.write("a"), writer.write("b", 0, new Error("fails")), writer.write("c"), writer.write("x")];
    other[Symbol.dispose]();
    await fixture.clock.advance(100);
    await Promise.all(writes);
    assertEquals(writer.events, [
      ...["run a", "run b", "run a", "done a", "run b", "failed b", "run c", "run x", "done c", "done x"],
    ]);
    writer.events.length = 0;
    other = fixture.lock();
    const shared = [writer.write("d"), writer.write("e")];
    other[Symbol.dispose]();
    await fixture.clock.advance(100);
    await Promise.all(shared);
    assertEquals(writer.events, ["run d", "run e", "done d", "done e"]);
  }
});

testWithFixture("LockFile.write() rejects for all tasks when no transaction can begin", async (fixture) => {
  using writer = new Writer(fixture);
  using database = new DatabaseSync(fixture.path);
  database.exec("BEGIN IMMEDIATE; CREATE TABLE holdfast_holders (id INTEGER PRIMARY KEY)");
  const writes = [writer.write("a"), writer.write("b"), writer.write("c")];
  database.exec("COMMIT");
  await fixture.clock.advance(100);
  await Promise.all(writes);
  assertEquals(writer.events, ["failed a", "failed b", "failed c"]);
  database.exec("DROP TABLE holdfast_holders");
  await writer.write("d");
  assertEquals(writer.events.at(-1), "done d");
});

testWithFixture(
  "LockFile.write() rejects only tasks that waited for a busy file for 5 s",
  async (fixture) => {
    using writer = new Writer(fixture);
    await writer.write("first");
    writer.events.length = 0;
    const other = fixture.lock();
    const writes = [writer.write("a")];
    await fixture.clock.advance(3_000);
    writes.push(writer.write("b"));
    await fixture.clock.advance(1_990);
    assertEquals(writer.events, []);
    await fixture.clock.advance(30);
    assertEquals(writer.events, ["failed a"]);
    writes.push(writer.write("c"));
    await fixture.clock.advance(2_970);
    assertEquals(writer.events, ["failed a"]);
    await fixture.clock.advance(30);
    assertEquals(writer.events, ["failed a", "failed b"]);
    other[Symbol.dispose]();
    await fixture.clock.advance(10);
    await Promise.all(writes);
    assertEquals(writer.events, ["failed a", "failed b", "run c", "done c"]);
  },
);

testWithFixture("LockFile.write() does not count the times in which its process stood still", async (fixture) => {
  using writer = new Writer(fixture);
  await writer.write("first");
  const other = fixture.lock();
  const written = writer.write("a");
  await fixture.clock.advance(500);
  for (let i = 0; i < 60; i++) {
    fixture.clock.stall(1_000);
    await fixture.clock.advance(10);
  }
  assertEquals(writer.events.at(-1), "done first");
  other[Symbol.dispose]();
  await fixture.clock.advance(10);
  await written;
  assertEquals(writer.events.at(-1), "done a");
});

testWithFixture("LockFile.write() counts the busy time anew after each transaction", async (fixture) => {
  using writer = new Writer(fixture);
  await writer.write("first");
  for (const name of ["a", "b"]) {
    const other = fixture.lock();
    const written = writer.write(name);
    await fixture.clock.advance(2_000);
    fixture.clock.stall(10_000);
    await fixture.clock.advance(2_000);
    other[Symbol.dispose]();
    await fixture.clock.advance(10);
    await written;
    assertEquals(writer.events.at(-1), `done ${name}`);
  }
});

testWithFixture("LockFile.write() pauses before another try when the file is busy", async (fixture) => {
  using writer = new Writer(fixture);
  await writer.write("first");
  const other = fixture.lock();
  const written = writer.write("a");
  other[Symbol.dispose]();
  await settled();
  assertEquals(writer.events.at(-1), "done first");
  await fixture.clock.advance(4);
  await written;
  assertEquals(writer.events.at(-1), "done a");
});

testWithFixture("LockFile.write() tries a busy file again within four milliseconds", async (fixture) => {
  using writer = new Writer(fixture);
  await writer.write("first");
  for (let i = 0; i < 20; i++) {
    const other = fixture.lock();
    const written = writer.write(`${i}`);
    await fixture.clock.advance(20);
    other[Symbol.dispose]();
    await fixture.clock.advance(4);
    assertEquals(writer.events.at(-1), `done ${i}`);
    await written;
  }
});

testWithFixture("LockFile.read() waits for a file that another process keeps busy", async (fixture) => {
  using writer = new Writer(fixture);
  using database = new DatabaseSync(fixture.path);
  // Before there is a write-ahead log: with one readers do not wait.
  database.exec("BEGIN EXCLUSIVE");
  const read = writer.file.read((run) => run.revocations.get()?.["count"]);
  await fixture.clock.advance(4_500);
  database.exec("COMMIT");
  await fixture.clock.advance(4);
  assertEquals(await read, 0);
  assertEquals(fixture.clock.pending, 0);
});

testWithFixture("LockFile.read() rejects after 5 s on a busy file, and on a closed one", async (fixture) => {
  using writer = new Writer(fixture);
  using database = new DatabaseSync(fixture.path);
  database.exec("BEGIN EXCLUSIVE");
  const late = assertRejects(() => writer.file.read(() => {}), StoreError, "database is locked");
  await fixture.clock.advance(5_010);
  assertEquals(fixture.clock.pending, 0);
  assert(!(await late).permanent);
  const closed = assertRejects(() => writer.file.read(() => {}), StoreError, "closed");
  writer.file.close(() => {});
  assert((await closed).permanent);
  assertEquals(fixture.clock.pending, 0);
});

testWithFixture("LockFile.close() ends the wait for the file, and closes it only once", async (fixture) => {
  using writer = new Writer(fixture);
  await writer.write("first");
  using _other = fixture.lock();
  const writes = [writer.write("a"), writer.write("b")];
  writer.file.close(() => assert(false, "while another one writes"));
  writer.file.close(() => assert(false, "a second time"));
  await settled();
  await Promise.all(writes);
  assertEquals(writer.events, ["run first", "done first", "failed a", "failed b"]);
  assertEquals(fixture.clock.pending, 0);
});

testWithFixture("LockFile.close() makes no tables in a file that was not used", (fixture) => {
  const writer = new Writer(fixture);
  writer.file.close(() => assert(false, "nothing was written before"));
  assert(writer.file.closed);
  using database = new DatabaseSync(fixture.path);
  assertEquals(database.prepare("SELECT name FROM sqlite_schema").all(), []);
  return Promise.resolve();
});

testWithFixture("LockFile.close() closes the database", async (fixture) => {
  const writer = new Writer(fixture);
  await writer.write("a");
  fixture.a.close();
  fixture.b.close();
  assert(existsSync(`${fixture.path}-wal`));
  writer.file.close(() => {});
  // The last one that closes the file takes the log away.
  assert(!existsSync(`${fixture.path}-wal`));
});
