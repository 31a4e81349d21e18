import { MariadbServer } from "../../../support/mariadb_server.ts";
import { StalledDisks } from "../../../support/stalled_disks.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import type { Deployment } from "../deployment.ts";
import { diskStalls } from "../disk_stalls.ts";
import { freezing } from "../freezing.ts";
import { POLLED_ENGINE } from "../engine_traits.ts";
import { mysqlLeft } from "../mysql/left.ts";
import { serverFaults, setUp } from "../mysql/server_faults.ts";
import { ServerClock } from "../server_clock.ts";

/** The name of its disk. */
const DISK = "mariadb";

/** Starts a MariaDB server, which has each commit on disk. */
export async function mysql(locks: readonly string[]): Promise<Deployment & { readonly server: MariadbServer }> {
  await using stack = new AsyncDisposableStack();
  const clock = stack.use(await ServerClock.make());
  const disks = stack.use(await StalledDisks.ifPossible());
  const settings = ["--innodb-flush-log-at-trx-commit=1"];
  const server = stack.use(await MariadbServer.start(settings, { env: clock.env, startedBy: disks?.startedBy(DISK) }));
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
      ...diskStalls({ disks, name: () => Promise.resolve(DISK), well: () => Promise.resolve() }),
      ...serverFaults(server),
      clock.setting(),
    ],
    server,
    left: async () => {
      await server.checkAlive();
      return await mysqlLeft(server, locks);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
