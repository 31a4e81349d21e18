/**
 * An SQL update that a holder which comes too late cannot make: the row remembers the largest fence that it has seen,
 * and the statement that writes also checks it. SQLite stands for any SQL database here.
 *
 * `fence <= ?` lets one holder write as often as it likes; every later holder has a larger fence. With `fence < ?`
 * each holder could write only once.
 *
 * ```sh
 * deno run examples/fenced_update.ts
 * ```
 *
 * @module
 */
import { acquire, type Lock } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { DatabaseSync } from "node:sqlite";

const store = memory(); // or: new Redis("redis://…"), sqlite("locks.db")
const database = new DatabaseSync(":memory:");
database.exec("CREATE TABLE invoice (id INTEGER PRIMARY KEY, state TEXT NOT NULL, fence INTEGER NOT NULL)");
database.exec("INSERT INTO invoice VALUES (42, 'open', 0)");

function setState(lock: Lock, state: string): void {
  const update = database.prepare("UPDATE invoice SET state = ?, fence = ? WHERE id = 42 AND fence <= ?");
  const { changes } = update.run(state, lock.fence, lock.fence);
  console.log(`fence ${lock.fence} writes "${state}": ${changes === 1 ? "accepted" : "refused"}`);
}

// A holder that has slept for longer than its lease: nobody renews this one.
const late = await acquire(store, "invoice:42", { lease: 50, renew: false });
{
  await using lock = await acquire(store, "invoice:42"); // waits until that lease is over
  setState(lock, "paid");
  setState(late, "cancelled");
  setState(lock, "archived");
}
console.log("the invoice is", database.prepare("SELECT state FROM invoice").get()?.["state"]);
