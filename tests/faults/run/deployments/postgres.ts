import { StalledDisks } from "../../../support/stalled_disks.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import type { Deployment } from "../deployment.ts";
import { diskStalls } from "../disk_stalls.ts";
import { WOKEN_ENGINE } from "../engine_traits.ts";
import { freezing } from "../freezing.ts";
import { postgresLeft } from "../postgres/left.ts";
import { ReplicatedPostgres } from "../postgres/replicated.ts";
import { promotions, serverFaults } from "../postgres/server_faults.ts";
import { REQUEST } from "../postgres/request.ts";
import { ServerClock } from "../server_clock.ts";

/** Starts a PostgreSQL server, which has each commit on disk, and a standby. */
export async function postgres(
  locks: readonly string[],
): Promise<Deployment & { readonly servers: ReplicatedPostgres }> {
  await using stack = new AsyncDisposableStack();
  const clock = stack.use(await ServerClock.make());
  const disks = stack.use(await StalledDisks.ifPossible());
  const startedBy = (port: number) => disks?.startedBy(`${port}`) ?? [];
  const servers = stack.use(await ReplicatedPostgres.start({ env: clock.env, startedBy }));
  const { address } = servers;
  const proxy = stack.use(await TcpProxy.start(address.port));
  const owned = stack.move();
  return {
    target: ([port]) => ({ kind: "postgres", port: port!, listen: port! }),
    ports: [address.port],
    proxies: [proxy],
    request: REQUEST,
    traits: WOKEN_ENGINE,
    faults: [
      freezing({ servers: () => Promise.resolve([servers.primary]) }, false, () => Promise.resolve()),
      ...diskStalls({
        disks,
        name: () => Promise.resolve(`${servers.primary.port}`),
        well: () => Promise.resolve(),
      }),
      ...serverFaults(() => servers.primary),
      ...promotions(servers, clock.mayLose).map((fault) => clock.noting(fault)),
      clock.setting(),
    ],
    servers,
    left: () => postgresLeft(servers.primary, locks),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
