// Deno only: it starts a server, and reads the docs.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { mysql } from "@holdfast/lock/mysql";
import { createTable } from "../../../src/stores/mysql/schema.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { Place, test } from "./place.ts";

Place.serve();

/** The statements of the page. */
const PAGE = Deno.readTextFileSync(new URL("../../../docs/stores/mysql.md", import.meta.url));
const [create, holders, queues, grant] = Array.from(PAGE.matchAll(/```sql\n([^]*?);\n```/g), ([, sql]) => sql!);

Deno.test("docs/stores/mysql.md has the statement that makes the table", () => {
  assertEquals(create, createTable("holdfast_locks"));
});

test("docs/stores/mysql.md lists holders in plain SQL, with the rights that it says", async (place) => {
  await place.query(create!);
  await place.query(`CREATE USER page@'127.0.0.1'`);
  await place.query(grant!.replace("shop.", `${place.database}.`).replace(/app$/, "page@'127.0.0.1'"));
  const store = mysql(place.pool("mysql2", { user: "page" }));
  const before = Date.now();
  const lock = await acquire(store, "a", { lease: 3_600_000, meta: { job: "report" } });
  const printers = await acquire(store, "printers", { permits: 3 });
  const waiting = [1, 2].map((n) => acquire(store, "a", { wait: HANG_MS, owner: `${n}`, meta: { n: `${n}` } }));
  await until(async () => (await store.query()).pending.length === 2, "both wait");
  const [first, second, ...more] = await place.query(holders!);
  assertEquals([first!["name"], first!["kind"], first!["waiting"], more], ["a", "exclusive", 2, []]);
  assert(`${first!["meta"]}`.includes("report"), `${first!["meta"]}`);
  const left = Number(first!["seconds_left"]);
  assert(Math.abs(left - 3_600) < 60, `${left} s`);
  const since = Number(first!["held_since"]);
  assert(since >= before - 1_000 && since <= Date.now() + 1_000, `${since}`);
  assertEquals([second!["name"], second!["kind"], second!["waiting"]], ["printers", "3", 0]);
  const waiters = await place.query(queues!);
  assertEquals(waiters.map(({ name, place }) => [name, Number(place)]), [["a", 1], ["a", 2]]);
  assert(waiters.every(({ meta }, i) => `${meta}`.includes(`${i + 1}`)), JSON.stringify(waiters));
  await lock.release();
  await Promise.all(waiting.map((each) => each.then((lock) => lock.release())));
  await printers.release();
});
