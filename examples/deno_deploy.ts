/**
 * A program for Deno Deploy: a nightly job that one instance runs, and a lock per user for requests.
 *
 * **It was not tried on Deno Deploy.** The tests run it with a file of Deno KV, which serves one process.
 *
 * ```sh
 * deno run --unstable-kv --unstable-cron --allow-net=127.0.0.1 --allow-read=. --allow-write=. examples/deno_deploy.ts kv.db
 * curl -X POST http://127.0.0.1:8000/users/ada/withdraw/30
 * curl -X POST http://127.0.0.1:8000/report    # what the cron job does
 * ```
 *
 * The arguments are the file and the port. Without a file `Deno.openKv()` opens the Deno KV of the project.
 *
 * @module
 */
import { acquire, LockTimeoutError, tryAcquire } from "@holdfast/lock";
import { denoKv } from "@holdfast/lock/deno-kv";
import { setTimeout as delay } from "node:timers/promises";

const [file, port = "8000"] = Deno.args;
using kv = await Deno.openKv(file);
const store = denoKv(kv);

interface Account {
  readonly balance: number;
  readonly fence: bigint;
}

async function report(): Promise<string> {
  const night = new Date().toISOString().slice(0, 10);
  await using lock = await tryAcquire(store, "nightly-report", { lease: 10_000 });
  if (lock === null) return "another instance writes the report";
  // An instance whose clock is behind comes when the job has ended, and the lock is free again.
  const written = await kv.get(["example", "reports", night]);
  if (written.value !== null) return "the report is already written";
  await delay(200, undefined, { signal: lock.signal }); // the work
  const { ok } = await kv.atomic().check(written).set(["example", "reports", night], { fence: lock.fence }).commit();
  return ok ? "the report is written" : "another instance has written the report";
}

async function withdraw(user: string, amount: number, signal: AbortSignal): Promise<Response> {
  // Held within one request: an instance may be stopped after the response.
  await using lock = await acquire(store, `user:${user}`, { lease: 10_000, wait: 2_000, signal });
  const account = await kv.get<Account>(["example", "accounts", user]);
  const { balance, fence } = account.value ?? { balance: 100, fence: 0n };
  if (balance < amount) return Response.json({ error: "not enough money", balance }, { status: 409 });
  if (fence > lock.fence) throw new Error("a later holder has changed the account");
  await delay(20, undefined, { signal: lock.signal }); // ask the bank
  const changed = { balance: balance - amount, fence: lock.fence };
  const { ok } = await kv.atomic().check(account).set(["example", "accounts", user], changed).commit();
  if (!ok) throw new Error("a later holder has changed the account");
  return Response.json({ balance: changed.balance });
}

async function handle(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (request.method === "POST" && pathname === "/report") return new Response(await report());
  const [, user, amount] = /^\/users\/([^/]+)\/withdraw\/(\d+)$/.exec(pathname) ?? [];
  if (request.method !== "POST" || user === undefined) return new Response("not found", { status: 404 });
  try {
    return await withdraw(user, Number(amount), request.signal);
  } catch (error) {
    if (!(error instanceof LockTimeoutError)) throw error;
    return Response.json({ error: "busy" }, { status: 503, headers: { "retry-after": "2" } });
  }
}

// At the top level, where Deno Deploy looks for it.
Deno.cron("nightly report", "0 3 * * *", async () => console.log(await report()));

const server = Deno.serve({
  hostname: file === undefined ? "0.0.0.0" : "127.0.0.1",
  port: Number(port),
  onListen: ({ port }) => console.log(`listening on http://127.0.0.1:${port}`),
}, handle);
await server.finished;
