/**
 * An SQL update that refuses a stale holder: the row remembers the largest fence that it has seen, and the statement
 * that writes also checks it. SQLite stands for any SQL database here.
 *
 * `fence <= ?` lets one holder write as often as it likes; every later holder has a larger fence. With `fence < ?`
 * each holder could write only once.
 *
 * ```sh
 * deno run --allow-read=. --allow-write=. examples/fenced_update.ts [STORE]
 * ```
 *
 * STORE is explained in `examples/store.ts`; with a server add `--allow-net=HOST:PORT --allow-env`.
 *
 * @module
 */
import { acquire, type Lock } from "@holdfast/lock";
import { DatabaseSync } from "node:sqlite";
import { openStore } from "./store.ts";

await using opened = await openStore(Deno.args[0]);
const database = new DatabaseSync(":memory:");
database.exec("CREATE TABLE invoice (id INTEGER PRIMARY KEY, state TEXT NOT NULL, fence INTEGER NOT NULL)");
database.exec("INSERT INTO invoice VALUES (42, 'open', 0)");

function setState(lock: Lock, state: string): void {
  const update = database.prepare("UPDATE invoice SET state = ?, fence = ? WHERE id = 42 AND fence <= ?");
  const { changes } = update.run(state, lock.fence, lock.fence);
  console.log(`fence ${lock.fence} writes "${state}": ${changes === 1 ? "accepted" : "refused"}`);
}

// A holder that was paused for longer than its lease: nobody renews this one.
const late = await acquire(opened.store, "invoice:42", { lease: 50, renew: false });
{
  await using lock = await acquire(opened.store, "invoice:42"); // waits until that lease is over
  setState(lock, "paid");
  setState(late, "cancelled");
  setState(lock, "archived");
}
console.log("the invoice is", database.prepare("SELECT state FROM invoice").get()?.["state"]);
