import { MariadbServer } from "../../../support/mariadb_server.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import type { Deployment } from "../deployment.ts";
import { freezing } from "../freezing.ts";
import { POLLED_ENGINE } from "../engine_traits.ts";
import { mysqlLeft } from "../mysql/left.ts";
import { serverFaults, setUp } from "../mysql/server_faults.ts";
import { ServerClock } from "../server_clock.ts";

/** Starts a MariaDB server, which has each commit on disk. */
export async function mysql(locks: readonly string[]): Promise<Deployment & { readonly server: MariadbServer }> {
  await using stack = new AsyncDisposableStack();
  const clock = stack.use(await ServerClock.make());
  const server = stack.use(await MariadbServer.start(["--innodb-flush-log-at-trx-commit=1"], { env: clock.env }));
  const proxy = stack.use(await TcpProxy.start(server.port));
  await setUp(server);
  const owned = stack.move();
  return {
    target: ([port]) => ({ kind: "mysql", port: port! }),
    ports: [server.port],
    proxies: [proxy],
    request: "SET STATEMENT innodb_lock_wait_timeout",
    traits: POLLED_ENGINE,
    faults: [
      freezing({ servers: () => Promise.resolve([server]) }, false, () => Promise.resolve()),
      ...serverFaults(server),
      clock.setting(),
    ],
    server,
    left: () => mysqlLeft(server, locks),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
