// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { claimOf, grant } from "../../../support/claims.ts";
import { sqlite } from "../deployments/sqlite.ts";
import type { SqliteTarget } from "../work.ts";
import { strikes } from "../strikes.ts";
import { sqliteAccess } from "./access.ts";

/** What a fault does to others that use the file, while it lasts or afterwards. */
const EFFECTS: Readonly<Record<string, (database: DatabaseSync, path: string) => void>> = {
  "writer blocked": (database) => database.exec("BEGIN IMMEDIATE; COMMIT"),
  "writer killed": (database) => database.exec("BEGIN IMMEDIATE; COMMIT"),
  "long read": (database) => {
    database.exec("UPDATE holdfast_fences SET last = last + 1");
    const busy = database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()!["busy"];
    if (busy === 1) throw new Error("the checkpoint is not complete");
  },
  "checkpoint": (database, path) => {
    const { size } = Deno.statSync(`${path}-wal`);
    if (size === 0) throw new Error("the log is empty");
    database.exec("UPDATE holdfast_fences SET last = last + 1");
  },
};

Deno.test("fileFaults() do to a file what they say, and take it back", async (t) => {
  await using deployment = await sqlite();
  const { path } = deployment.target([]) as SqliteTarget;
  using database = new DatabaseSync(path);
  database.exec("UPDATE holdfast_fences SET last = last + 1");
  for (const fault of deployment.faults) {
    await t.step(fault.kind, async () => {
      const effect = () => Promise.resolve().then(() => EFFECTS[fault.kind]!(database, path));
      assert(await strikes(fault, effect), "others notice");
      database.exec("BEGIN IMMEDIATE; COMMIT");
      assertEquals(database.prepare("SELECT count(*) AS rows FROM other").get()!["rows"], 0);
    });
  }
});

Deno.test("sqlite() finds what its file lists in the end", async () => {
  await using deployment = await sqlite();
  const { path } = deployment.target([]) as SqliteTarget;
  const { store, close } = sqliteAccess({ kind: "sqlite", path }, () => {});
  const [holder, waiter] = [claimOf("a"), claimOf("a")];
  await grant(store, holder);
  await store.attempt(waiter, { enqueue: true });
  assertEquals(await deployment.left(), {
    entries: [`lock a held by ${holder.owner}`, `lock a waited for by ${waiter.owner}`],
    connections: [],
  });
  for (const claim of [waiter, holder]) await store.release(claim);
  assertEquals((await deployment.left()).entries, []);
  close();
});

Deno.test({
  name: "sqliteAccess() finds a file that is open although its store was closed",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using deployment = await sqlite();
    const { path } = deployment.target([]) as SqliteTarget;
    const { store, close, unclosed } = sqliteAccess({ kind: "sqlite", path }, () => {});
    await grant(store, claimOf("a"));
    assert(unclosed!().includes(path));
    close();
    assertEquals(unclosed!(), []);
  },
});
