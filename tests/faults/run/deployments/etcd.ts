import { EtcdCluster } from "../../../support/etcd_server.ts";
import { StalledDisks } from "../../../support/stalled_disks.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import { clockFaults, LostFences } from "../clock_faults.ts";
import type { Deployment } from "../deployment.ts";
import { connectTo, WATCH } from "../etcd/connection.ts";
import { etcdLeft } from "../etcd/left.ts";
import { serverFaults } from "../etcd/server_faults.ts";
import { replyLost } from "../network_faults.ts";
import { WOKEN_ENGINE } from "../engine_traits.ts";
import { WorkerClocks } from "../worker_clocks.ts";

/** What bounds the room that revisions take, and how far a member may be behind before it is sent a snapshot. */
const SETTINGS = ["--auto-compaction-mode=periodic", "--auto-compaction-retention=1m", "--snapshot-count=5000"];

/** Starts a cluster of three members, which reach each other through proxies. */
export async function etcd(locks: readonly string[]): Promise<Deployment & { readonly cluster: EtcdCluster }> {
  await using stack = new AsyncDisposableStack();
  const through = async (port: number) => stack.use(await TcpProxy.start(port));
  const peers: TcpProxy[] = [];
  const disks = stack.use(await StalledDisks.ifPossible());
  const cluster = stack.use(
    await EtcdCluster.start(3, SETTINGS, {
      reached: async (port) => {
        const proxy = await through(port);
        peers.push(proxy);
        return proxy.port;
      },
      startedBy: ({ name }) => disks?.startedBy(name) ?? [],
    }),
  );
  const ports = cluster.members.map(({ port }) => port);
  const proxies = await Promise.all(ports.map(through));
  const clocks = stack.use(await WorkerClocks.make({ shared: false }));
  const direct = connectTo(ports);
  stack.defer(() => direct.close());
  let targets = 0;
  const owned = stack.move();
  return {
    // Processes ask different members first.
    target: (ports) => {
      const first = targets++ % ports.length;
      return { kind: "etcd", ports: [...ports.slice(first), ...ports.slice(0, first)] };
    },
    ports,
    proxies,
    request: "/v3/kv/txn",
    clocks,
    traits: WOKEN_ENGINE,
    faults: [...serverFaults({ cluster, peers, proxies, disks }), replyLost(proxies, WATCH, "watch cut")],
    // No fence is ever lost.
    userFaults: ({ crew }) => clockFaults(clocks, crew, new LostFences(), false),
    probe: () => direct.backend.read("probe"),
    cluster,
    left: () => etcdLeft(cluster, locks),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
