/**
 * An HTTP server that changes an account under a lock per user. Requests of one user run one after the other, also when
 * several servers get them; requests of different users run at the same time.
 *
 * Without the lock two requests could read the same balance, and both would be paid. A user who holds the lock for
 * longer than 2 s makes the next request fail with 503, instead of filling the server with waiting requests.
 *
 * ```sh
 * deno run --allow-net=127.0.0.1 --allow-read=. --allow-write=. examples/http.ts [STORE] [PORT]
 * curl -X POST http://127.0.0.1:8000/users/ada/withdraw/30
 * ```
 *
 * STORE is explained in `examples/store.ts`; with a server add `--allow-net=HOST:PORT --allow-env`.
 *
 * @module
 */
import { acquire, LockTimeoutError } from "@holdfast/lock";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { openStore } from "./store.ts";

await using opened = await openStore(Deno.args[0]);
using database = new DatabaseSync("example_accounts.db"); // any database that all servers share
database.exec("PRAGMA busy_timeout = 5000");
database.exec("CREATE TABLE IF NOT EXISTS accounts (user TEXT PRIMARY KEY, balance INTEGER, fence INTEGER)");

async function withdraw(user: string, amount: number, signal: AbortSignal): Promise<Response> {
  // A client that closes its connection no longer waits for the lock.
  await using lock = await acquire(opened.store, `user:${user}`, { lease: 10_000, wait: 2_000, signal });
  database.prepare("INSERT OR IGNORE INTO accounts VALUES (?, 100, 0)").run(user);
  const balance = Number(database.prepare("SELECT balance FROM accounts WHERE user = ?").get(user)?.["balance"]);
  if (balance < amount) return Response.json({ error: "not enough money", balance }, { status: 409 });
  await delay(20, undefined, { signal: lock.signal }); // ask the bank
  const { changes } = database
    .prepare("UPDATE accounts SET balance = ?, fence = ? WHERE user = ? AND fence <= ?")
    .run(balance - amount, lock.fence, user, lock.fence);
  if (changes === 0) throw new Error("a later holder has changed the account");
  return Response.json({ balance: balance - amount });
}

async function handle(request: Request): Promise<Response> {
  const { user, amount } = new URLPattern({ pathname: "/users/:user/withdraw/:amount(\\d+)" })
    .exec(request.url)?.pathname.groups ?? {};
  if (request.method !== "POST" || user === undefined) return new Response("not found", { status: 404 });
  try {
    return await withdraw(user, Number(amount), request.signal);
  } catch (error) {
    if (!(error instanceof LockTimeoutError)) throw error;
    return Response.json({ error: "busy" }, { status: 503, headers: { "retry-after": "2" } });
  }
}

const server = Deno.serve({
  hostname: "127.0.0.1",
  port: Number(Deno.args[1] ?? 8000),
  onListen: ({ port }) => console.log(`listening on http://127.0.0.1:${port}`),
}, handle);
await server.finished;
