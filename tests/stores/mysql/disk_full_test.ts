// Deno only: it mounts a file system, and starts a server on it.
import { createPool } from "mysql2/promise";
import { assert, assertEquals } from "@std/assert";
import { acquire, type Lock, LockLostError, tryAcquire } from "@holdfast/lock";
import { mysql } from "@holdfast/lock/mysql";
import { MariadbServer } from "../../support/mariadb_server.ts";
import { MAY_MOUNT, SmallDisk } from "../../support/small_disk.ts";
import { HANG_MS } from "../../support/until.ts";
import { ignore } from "./place.ts";

/** Longer than the test, in milliseconds. */
const LEASE = 120_000;

Deno.test({
  name: "Lock outlives a disk of MariaDB that is full",
  ignore: ignore || !MAY_MOUNT,
  fn: async () => {
    await using disk = await SmallDisk.make(150_000_000);
    await using server = await MariadbServer.start(["--innodb-flush-log-at-trx-commit=1"], { folder: disk.path });
    const pools = [createPool(server.options), createPool(server.options)] as const;
    const [store, other] = [mysql(pools[0]), mysql(pools[1])];
    const locks: Lock[] = [await acquire(store, "a", { lease: LEASE })];
    // To look at the table it needs a temporary one.
    assertEquals(await tryAcquire(other, "a"), null);
    disk.fill();
    // The table needs more room at some time.
    let failure: Error | undefined;
    while (failure === undefined) {
      const name = `${locks.length} ${"x".repeat(1_000)}`;
      await acquire(store, name, { lease: LEASE, wait: 2_000 }).then(
        (lock) => locks.push(lock),
        (error: Error) => failure = error,
      );
    }
    assert(/full/.test(`${failure.message}${failure.cause}`), `${failure.message}: ${failure.cause}`);
    for (const lock of locks.slice(0, 10)) {
      await lock.extend(LEASE).catch((error: unknown) => assert(!(error instanceof LockLostError), `${error}`));
      assert(lock.held, lock.name);
      assertEquals(await tryAcquire(other, lock.name), null);
    }
    disk.free();
    for (const lock of locks) await lock.release();
    await (await acquire(other, `${locks.length} ${"x".repeat(1_000)}`, { wait: HANG_MS })).release();
    assertEquals((await other.query()).held, []);
    for (const pool of pools) await pool.end();
  },
});
