// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { sqlite, type SqliteStore } from "@holdfast/lock/sqlite";
import { replayed } from "../../../tests/support/replayed.ts";
import { HANG_MS, until } from "../../../tests/support/until.ts";
import { gone, runHoldfast, RunProcess, shell, wasKilled } from "./run_process.ts";

/** A directory with a file for locks. */
class Place implements Disposable {
  readonly directory = Deno.makeTempDirSync({ prefix: "holdfast_sqlite_" });
  readonly file: SqliteStore = sqlite(`${this.directory}/locks.db`);

  /** Its URL. */
  readonly store = `sqlite:${this.directory}/locks.db`;

  [Symbol.dispose](): void {
    this.file.close();
    Deno.removeSync(this.directory, { recursive: true });
  }
}

Deno.test("holdfast run passes a status on and releases the lock in an SQLite file", async () => {
  using place = new Place();
  assertEquals((await runHoldfast(place.store, ["a", ...shell("exit 7")])).status, 7);
  assertEquals(await place.file.query(), { held: [], pending: [] });
});

Deno.test("holdfast run --at-least keeps the lock when its command has ended", async () => {
  using place = new Place();
  const kept = await runHoldfast(place.store, ["a", "--at-least", "1h", ...shell("exit 7")]);
  assertEquals([kept.status, kept.errors], [7, ""]);
  const { status } = await runHoldfast(place.store, ["a", "--wait", "0", ...shell("exit 0")]);
  assertEquals(status, 75);
  const { held: [holder] } = await place.file.query();
  const left = holder?.expiresIn ?? 0;
  assert(left > 30_000 && left <= 3_600_000, `${left} ms are left`);
  assertEquals(await place.file.evict("a"), 1);
});

Deno.test("holdfast run stops its command when the lock in an SQLite file is evicted", async () => {
  using place = new Place();
  const script = shell('trap "exit 3" TERM; echo $$; sleep 600 & wait');
  await using run = new RunProcess(place.store, ["a", "--lease", "1h", ...script]);
  const group = await run.commandId();
  const evictedAt = performance.now();
  assertEquals(await place.file.evict("a"), 1);
  await gone(group);
  const { status, errors } = await run.result();
  assertEquals(status, 76);
  assert(errors.includes("the command was stopped, ") || wasKilled(errors, evictedAt), errors);
});

Deno.test("holdfast run ends with 76 when the lock was gone before its command ended", async () => {
  const script = shell('trap "exit 6" USR1; echo $$; while :; do sleep 0.02; done');
  // On a busy machine it sees the change in the file before the command has ended, and stops it.
  const endsFirst = async () => {
    using place = new Place();
    await using run = new RunProcess(place.store, ["a", ...script]);
    await run.commandId();
    // Nobody is told of it.
    using database = new DatabaseSync(`${place.directory}/locks.db`);
    database.exec("DELETE FROM holdfast_holders");
    run.signal("SIGUSR1");
    const { status, errors } = await run.result();
    assertEquals(status, 76);
    return errors.includes("the command had ended, and its status 6 is not passed on");
  };
  await until(endsFirst, "the command ended first", HANG_MS);
});

Deno.test("holdfast run stops its command in time when nobody can write to the SQLite file", () =>
  replayed(async () => {
    const words = ["a", "--lease", "6s", ...shell("trap '' TERM; echo $$; sleep 600 & wait")];
    using place = new Place();
    await using run = new RunProcess(place.store, words);
    const group = await run.commandId();
    using database = new DatabaseSync(`${place.directory}/locks.db`);
    database.exec("BEGIN IMMEDIATE");
    const expires = Number(database.prepare("SELECT expires FROM holdfast_holders").get()?.["expires"]);
    await gone(group);
    const late = Date.now() - expires;
    database.exec("ROLLBACK");
    assertEquals((await run.result()).status, 76);
    return late < 0 ? undefined : `stopped ${late} ms after the lease has ended`;
  }, 5));
