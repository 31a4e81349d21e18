// Deno only: it mounts a file system, and starts a server on it.
import { assert, assertEquals } from "@std/assert";
import { acquire, LockLostError, tryAcquire } from "@holdfast/lock";
import { postgres } from "@holdfast/lock/postgres";
import { runPostgres } from "../../../src/internal/sql/postgres_client.ts";
import { findPostgres } from "../../support/postgres.ts";
import { PostgresServer } from "../../support/postgres_server.ts";
import { MAY_MOUNT, SmallDisk } from "../../support/small_disk.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { connectWith } from "./clients.ts";

/** Longer than the test, in milliseconds. */
const LEASE = 120_000;

Deno.test({
  name: "Lock outlives a disk of PostgreSQL that is full, on which the server ends",
  ignore: "missing" in findPostgres() || !MAY_MOUNT,
  fn: async () => {
    await using disk = await SmallDisk.make(100_000_000);
    await using server = await PostgresServer.start({ folder: disk.path });
    await using one = connectWith("pg", server.url);
    await using two = connectWith("postgres.js", server.url);
    const [store, other] = [postgres(one.client), postgres(two.client)];
    const lock = await acquire(store, "a", { lease: LEASE });
    assertEquals(await tryAcquire(other, "a"), null);
    disk.fill();
    let failure: unknown;
    while (failure === undefined) {
      // Each file of the log is left for a new one.
      await runPostgres(one.client, "SELECT pg_switch_wal()").catch(() => {});
      await lock.extend(LEASE).catch((error: unknown) => failure = error);
    }
    assert(!(failure instanceof LockLostError) && lock.held, `${failure}`);
    disk.free();
    await server.kill();
    await server.start();
    await until(() => other.query().then(() => true, () => false), "the server answers");
    assertEquals(await tryAcquire(other, "a"), null);
    await lock.extend(LEASE);
    await lock.release();
    await (await acquire(other, "a", { wait: HANG_MS })).release();
    assertEquals((await other.query()).held, []);
  },
});
