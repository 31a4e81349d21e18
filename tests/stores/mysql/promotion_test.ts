// Deno only: it starts servers.
import { createPool } from "mysql2/promise";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type Lock, LockLostError } from "@holdfast/lock";
import { guard } from "@holdfast/lock/guard";
import { mysql } from "@holdfast/lock/mysql";
import { MariadbServer } from "../../support/mariadb_server.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { ignore } from "./place.ts";

/** Longer than the test, in milliseconds. */
const LEASE = 120_000;

const TABLES = "CREATE TABLE numbers AS SELECT 0 AS number; " +
  "CREATE TABLE holdfast_guard (name VARBINARY(1024) NOT NULL PRIMARY KEY, fence BIGINT NOT NULL) ENGINE=InnoDB";

Deno.test({
  name: "Lock of a lost grant is held by two after a promotion, and its fence is refused",
  ignore,
  fn: async () => {
    await using primary = await MariadbServer.start(["--server-id=1", "--log-bin=log", "--binlog-format=ROW"]);
    await using replica = await MariadbServer.start(["--server-id=2"]);
    await replica.query(
      `CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=${primary.port}, MASTER_USER='root'; START SLAVE`,
    );
    await using address = await TcpProxy.start(primary.port);
    const options = { ...primary.options, port: address.port };
    const pools = [createPool(options), createPool(options)] as const;
    const [store, other] = [mysql(pools[0]), mysql(pools[1])];
    await primary.query(TABLES);
    await (await acquire(store, "a")).release();
    const versionOn = async (server: MariadbServer) => {
      const [rows] = await server.query("SELECT HEX(version) AS version FROM holdfast_locks").catch(() => [[]]);
      return rows[0]?.["version"];
    };
    const last = await versionOn(primary);
    await until(async () => await versionOn(replica) === last, "the replica has all");
    await replica.query("STOP SLAVE");
    const first = await acquire(store, "a", { lease: LEASE, renew: false, strict: false });
    await primary.kill();
    await replica.query("RESET SLAVE ALL");
    address.redirect(replica.port);
    const second = await acquire(other, "a", { lease: LEASE, wait: HANG_MS });
    assertEquals([first.held, second.held], [true, true]);
    assert(second.fence > first.fence, `${second.fence} after ${first.fence}`);
    const raise = async (lock: Lock) => {
      const connection = await pools[0].getConnection();
      try {
        await connection.beginTransaction();
        await guard(connection, lock);
        await connection.query("UPDATE numbers SET number = number + 1");
        await connection.commit();
      } finally {
        connection.destroy();
      }
    };
    await raise(second);
    await assertRejects(() => raise(first), LockLostError);
    assertEquals((await replica.query("SELECT number FROM numbers"))[0], [{ number: 1 }] as never);
    await assertRejects(() => first.extend(LEASE), LockLostError);
    await second.release();
    for (const pool of pools) await pool.end();
  },
});
