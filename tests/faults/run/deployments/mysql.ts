import { MariadbServer } from "../../../support/mariadb_server.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import type { Deployment, Traits } from "../deployment.ts";
import { freezing } from "../freezing.ts";
import { connectTo } from "../mysql/connection.ts";
import { mysqlLeft } from "../mysql/left.ts";
import { serverFaults } from "../mysql/server_faults.ts";

/** What is particular to a table of MariaDB, whose server tells the time and notifies of nothing. */
const TRAITS: Traits = {
  runs: true,
  executesLate: false,
  keepsTurns: false,
  waiterTimeout: 15_000,
  // The turns of waiters that are gone pass, one process after the other.
  idle: 8_000,
  // The call of a waiter whose write was refused pauses for up to 2 s.
  givenBack: 2_500,
  // A write waits for the disk, and must be answered within a third of the lease.
  stall: 50,
  // Waiters look every 50 to 500 ms.
  pace: [500, 750],
};

/** Starts a MariaDB server, which has each commit on disk. */
export async function mysql(locks: readonly string[]): Promise<Deployment> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await MariadbServer.start(["--innodb-flush-log-at-trx-commit=1"]));
  const proxy = stack.use(await TcpProxy.start(server.port));
  // The table is there before anything happens.
  const { pool, backend } = connectTo(server.port);
  await backend.read("");
  await pool.end();
  const owned = stack.move();
  return {
    target: ([port]) => ({ kind: "mysql", port: port! }),
    ports: [server.port],
    proxies: [proxy],
    request: "SET STATEMENT innodb_lock_wait_timeout",
    traits: TRAITS,
    faults: [
      freezing({ servers: () => Promise.resolve([server]) }, false, () => Promise.resolve()),
      ...serverFaults(server),
    ],
    left: () => mysqlLeft(server, locks),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
