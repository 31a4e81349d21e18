import { Pgbouncer } from "../../../support/pgbouncer.ts";
import { PostgresServer } from "../../../support/postgres_server.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import type { Deployment } from "../deployment.ts";
import { type Fault, pause, serverFault } from "../fault.ts";
import { WOKEN_ENGINE } from "../engine_traits.ts";
import { freezing } from "../freezing.ts";
import { setUp } from "../postgres/administrator.ts";
import { postgresLeft } from "../postgres/left.ts";
import { DURABLE } from "../postgres/replicated.ts";
import { serverFaults } from "../postgres/server_faults.ts";
import { REQUEST } from "../postgres/request.ts";

/** Starts a pgbouncer in transaction mode in front of a PostgreSQL server; waiters listen to that directly. */
export async function pgbouncer(
  locks: readonly string[],
): Promise<Deployment & { readonly server: PostgresServer; readonly pooler: Pgbouncer }> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await PostgresServer.start({ settings: DURABLE }));
  await setUp(server);
  const pooler = stack.use(await Pgbouncer.start(server, "transaction"));
  const ports = [pooler.port, server.port];
  const proxies = await Promise.all(ports.map(async (port) => stack.use(await TcpProxy.start(port))));
  const well = () => Promise.resolve();
  const owned = stack.move();
  return {
    target: ([port, listen]) => ({ kind: "postgres", port: port!, listen: listen! }),
    ports,
    proxies,
    request: REQUEST,
    traits: WOKEN_ENGINE,
    faults: [
      poolerKilled(pooler),
      { ...freezing({ servers: () => Promise.resolve([pooler]) }, false, well), kind: "pooler frozen" },
      freezing({ servers: () => Promise.resolve([server]) }, false, well),
      ...serverFaults(() => server),
    ],
    server,
    pooler,
    left: () => postgresLeft(server, locks, { pooler }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function poolerKilled(pooler: Pgbouncer): Fault {
  return serverFault("pooler killed", false, async (random, over) => {
    await pooler.kill();
    await pause(random.spread(10, 1_500), over);
    await pooler.start();
  });
}
