// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { acquire, type Lock } from "@holdfast/lock";
import { sqlite, type SqliteStore } from "@holdfast/lock/sqlite";
import { holdfast as process, jsonLines, type Result } from "./cli_process.ts";
import { holdfast } from "./commands.ts";

/** A file with a lock `a`, in a directory of its own. */
class Fixture implements AsyncDisposable {
  readonly directory: string;
  readonly #store: SqliteStore;
  readonly #lock: Lock;

  private constructor(directory: string, store: SqliteStore, lock: Lock) {
    this.directory = directory;
    this.#store = store;
    this.#lock = lock;
  }

  static async start(): Promise<Fixture> {
    const directory = await Deno.makeTempDir({ prefix: "holdfast_cli_" });
    const store = sqlite(`${directory}/my locks.db`);
    return new Fixture(directory, store, await acquire(store, "a", { strict: false }));
  }

  run(store: string, ...args: string[]): Promise<Result> {
    return holdfast(args, { store, cwd: this.directory });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lock.release().catch(() => {});
    this.#store.close();
    await Deno.remove(this.directory, { recursive: true });
  }
}

Deno.test("holdfast shows and takes away locks in an SQLite file", async () => {
  await using fixture = await Fixture.start();
  const url = `sqlite:${fixture.directory}/my%20locks.db`;
  const { status, out } = await fixture.run(url, "ls", "--json");
  assertEquals([status, jsonLines<{ name: string }>(out).map(({ name }) => name)], [0, ["a"]]);
  const { lost, ...evicted } = JSON.parse((await fixture.run(url, "evict", "a", "--yes", "--json")).out);
  assertEquals([evicted, lost.length], [{ name: "a", evicted: 1 }, 1]);
  assertEquals((await fixture.run(url, "show", "a")).status, 1);
});

Deno.test("holdfast takes the path of an SQLite file from the working directory", async () => {
  await using fixture = await Fixture.start();
  for (const url of ["sqlite:my locks.db", "sqlite:./my%20locks.db"]) {
    assertEquals((await fixture.run(url, "show", "a")).status, 0, url);
  }
});

Deno.test("holdfast does not make an SQLite file in order to look at it", async () => {
  await using fixture = await Fixture.start();
  for (const args of [["ls"], ["show", "a"], ["wait", "a"], ["evict", "a", "--yes"], ["watch"]]) {
    const { status, err } = await fixture.run("sqlite:typo.db", ...args);
    assertEquals([status, err.startsWith("holdfast: there is no file typo.db: ")], [2, true], err);
  }
  assertEquals(Array.from(Deno.readDirSync(fixture.directory), ({ name }) => name).includes("typo.db"), false);
});

Deno.test("holdfast says that a file is no database", async () => {
  await using fixture = await Fixture.start();
  await Deno.writeTextFile(`${fixture.directory}/text.db`, "no database ".repeat(1_000));
  const { status, err } = await fixture.run("sqlite:text.db", "ls");
  assertEquals([status, err.trimEnd().split("\n").length], [69, 1], err);
  assert(err.includes("text.db"), err);
});

Deno.test("holdfast doctor names what it needs to examine the folder of a file", async () => {
  await using fixture = await Fixture.start();
  const path = `${fixture.directory}/my locks.db`;
  const doctor = (...flags: string[]) => process(["doctor"], { store: `sqlite:${path}`, flags });
  const { status, err } = await doctor(`--allow-read=${path}`, `--allow-write=${fixture.directory}`);
  const missing = [`--allow-read=${fixture.directory}`, "--allow-sys=uid,gid,statfs"];
  assertEquals([status, err.split("run with ")[1]], [2, `${missing.join(" ")}\n`]);
  assertEquals((await doctor(...missing, `--allow-write=${fixture.directory}`)).status, 0);
});
