/**
 * A worker that charges invoices from a table of PostgreSQL. Start it in several terminals: each invoice is charged
 * once.
 *
 * A lock for each invoice keeps two workers from charging the same one. A worker that is paused for longer than its
 * lease loses the lock, and another one charges the invoice. When the first one goes on, `guard` rolls its transaction
 * back, because the database has seen the larger fence of the second one. The payment provider is asked twice then,
 * with the same idempotency key.
 *
 * ```sh
 * deno run --allow-net --allow-env examples/invoices.ts postgres://app:secret@127.0.0.1/shop [STORE]
 * ```
 *
 * The locks are in the same database, or in the STORE that is explained in `examples/store.ts`. Delete the table
 * `example_invoices` to begin again.
 *
 * @module
 */
import { acquire, type Lock, LockLostError, tryAcquire } from "@holdfast/lock";
import { guard } from "@holdfast/lock/guard";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { openStore } from "./store.ts";

const LEASE_MS = 3_000;
const POLL_MS = 200;

const [database, where = database] = Deno.args;
if (database === undefined) throw new TypeError("the first argument is the URL of a PostgreSQL database");

await using opened = await openStore(where);
const pool = new pg.Pool({ connectionString: database });
pool.on("error", (error: Error) => console.log(`a connection was lost: ${error.message}`));
await using _closed = { [Symbol.asyncDispose]: () => pool.end() };

async function makeTables(): Promise<void> {
  await using _lock = await acquire(opened.store, "invoices:tables"); // two at a time may fail in PostgreSQL
  await pool.query("CREATE TABLE IF NOT EXISTS holdfast_guard (name bytea PRIMARY KEY, fence bigint NOT NULL)");
  await pool.query(
    "CREATE TABLE IF NOT EXISTS example_invoices (id int PRIMARY KEY, cents int NOT NULL, receipt text)",
  );
  await pool.query(
    "INSERT INTO example_invoices SELECT id, id * 100 FROM generate_series(1, 4) AS id ON CONFLICT DO NOTHING",
  );
}

async function openInvoices(): Promise<number[]> {
  return (await pool.query("SELECT id FROM example_invoices WHERE receipt IS NULL ORDER BY id")).rows.map((
    { id }: { id: number },
  ) => id);
}

/** Runs a transaction. The listener keeps the process alive when the server ends the connection meanwhile. */
async function inTransaction(run: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  let lost: Error | undefined;
  const onLost = (error: Error) => void (lost = error);
  client.on("error", onLost);
  try {
    await client.query("BEGIN");
    await run(client);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(onLost);
    throw error;
  } finally {
    client.off("error", onLost);
    client.release(lost);
  }
}

/**
 * Stands for a payment provider: it charges an idempotency key once, and gives the same receipt however often it is
 * asked.
 */
async function pay(idempotencyKey: string): Promise<string> {
  await delay(1_000);
  return `receipt for ${idempotencyKey}`;
}

async function charge(id: number, lock: Lock): Promise<void> {
  // Somebody may have charged it before this worker had the lock.
  if (!(await openInvoices()).includes(id)) return;
  console.log(`charging invoice ${id} with fence ${lock.fence}`);
  const receipt = await pay(`invoice ${id}`);
  await inTransaction(async (client) => {
    await guard(client, lock);
    await client.query("UPDATE example_invoices SET receipt = $1 WHERE id = $2", [receipt, id]);
  });
  console.log(`invoice ${id} is charged by process ${Deno.pid}`);
}

/** Charges an invoice, unless another worker has it. */
async function tryInvoice(id: number): Promise<void> {
  try {
    // Not strict: a lock that is lost behind the commit has done its work.
    await using lock = await tryAcquire(opened.store, `invoice:${id}`, { lease: LEASE_MS, strict: false });
    if (lock !== null) await charge(id, lock);
  } catch (error) {
    if (!(error instanceof LockLostError)) throw error;
    console.log(`invoice ${id} is left to another worker: ${error.message}`);
  }
}

await makeTables();
for (let open = await openInvoices(); open.length > 0; open = await openInvoices()) {
  for (const id of open) await tryInvoice(id);
  await delay(POLL_MS);
}
console.log("no invoice is open");
