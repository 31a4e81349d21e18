// Deno only: it starts servers.
import { assert, assertEquals, assertRejects } from "@std/assert";
import pg from "pg";
import { acquire, type Lock, LockLostError, tryAcquire } from "@holdfast/lock";
import { guard } from "@holdfast/lock/guard";
import { postgres } from "@holdfast/lock/postgres";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { ReplicatedPostgres } from "../../faults/run/postgres/replicated.ts";
import { findPostgres } from "../../support/postgres.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { connectWith } from "./clients.ts";

const ignore = "missing" in findPostgres();

/** Longer than any test, in milliseconds. */
const LEASE = 120_000;

/** A server with a standby, and two stores that follow when that is promoted. */
async function open(stack: AsyncDisposableStack) {
  const servers = stack.use(await ReplicatedPostgres.start());
  const url = `postgres://postgres@127.0.0.1:${servers.address.port}/postgres`;
  const [one, two] = [stack.use(connectWith("pg", url)), stack.use(connectWith("postgres.js", url))];
  return { servers, url, client: one.client, store: postgres(one.client), other: postgres(two.client) };
}

/** Raises a number in a transaction that a lock guards. */
async function raise(url: string, lock: Lock): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query("BEGIN");
    await guard(client, lock);
    await client.query("UPDATE numbers SET number = number + 1");
    await client.query("COMMIT");
  } finally {
    await client.end();
  }
}

Deno.test({
  name: "Lock of a lost grant is held by two after a promotion, and its fence is refused",
  ignore,
  fn: async () => {
    await using stack = new AsyncDisposableStack();
    const { servers, url, client, store, other } = await open(stack);
    await runPostgres(
      client,
      "CREATE TABLE IF NOT EXISTS holdfast_guard (name bytea PRIMARY KEY, fence bigint NOT NULL)",
    );
    await runPostgres(client, "CREATE TABLE numbers AS SELECT 0 AS number");
    await (await acquire(store, "a")).release();
    await servers.caughtUp();
    await servers.cutReplication();
    const first = await acquire(store, "a", { lease: LEASE, renew: false, strict: false });
    await servers.failOver();
    const second = await acquire(other, "a", { lease: LEASE, wait: HANG_MS });
    assertEquals([first.held, second.held], [true, true]);
    assert(second.fence > first.fence, `${second.fence} after ${first.fence}`);
    await raise(url, second);
    await assertRejects(() => raise(url, first), LockLostError);
    assertEquals(await runPostgres(client, "SELECT number::text FROM numbers"), [["1"]]);
    await assertRejects(() => first.extend(LEASE), LockLostError);
    await second.release();
  },
});

Deno.test({
  name: "Lock outlives a promotion of a standby that has received it",
  ignore,
  fn: async () => {
    await using stack = new AsyncDisposableStack();
    const { servers, store, other } = await open(stack);
    const lock = await acquire(store, "a", { lease: LEASE });
    await servers.caughtUp();
    await servers.failOver();
    await until(() => lock.extend(LEASE).then(() => true, (error) => error instanceof LockLostError), "it is answered");
    assert(lock.held);
    assertEquals(await tryAcquire(other, "a"), null);
    await lock.release();
    const next = await acquire(other, "a", { wait: HANG_MS });
    assert(next.fence > lock.fence);
    await next.release();
  },
});
