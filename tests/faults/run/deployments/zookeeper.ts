import { PeerProxies } from "../../../support/peer_proxies.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import { ZookeeperEnsemble } from "../../../support/zookeeper_server.ts";
import { clockFaults, LostFences } from "../clock_faults.ts";
import type { Deployment } from "../deployment.ts";
import { WOKEN_ENGINE } from "../engine_traits.ts";
import { WorkerClocks } from "../worker_clocks.ts";
import { connectTo, REQUEST } from "../zookeeper/connection.ts";
import { zookeeperLeft } from "../zookeeper/left.ts";
import { serverFaults } from "../zookeeper/server_faults.ts";

/** A follower that has been silent for 2 s is dropped, and elects a leader. */
const SETTINGS = ["syncLimit=4"];

/** How little memory a server gets. */
const JAVA = ["-Xmx64m"];

/** How long the probe may wait for an answer, in milliseconds. */
const PROBE_MS = 2_000;

/** Starts three servers, of which each follows any other through a proxy of its own. */
export async function zookeeper(
  locks: readonly string[],
): Promise<Deployment & { readonly ensemble: ZookeeperEnsemble }> {
  await using stack = new AsyncDisposableStack();
  const peers = stack.use(new PeerProxies());
  const ensemble = stack.use(await ZookeeperEnsemble.start(3, { settings: SETTINGS, java: JAVA }, peers.reached));
  const ports = ensemble.servers.map(({ port }) => port);
  const proxies = await Promise.all(ports.map(async (port) => stack.use(await TcpProxy.start(port))));
  const clocks = stack.use(await WorkerClocks.make({ shared: false }));
  const probing = connectTo(ports, { timeout: PROBE_MS });
  stack.defer(() => probing.close());
  const owned = stack.move();
  return {
    target: (ports) => ({ kind: "zookeeper", ports }),
    ports,
    proxies,
    request: REQUEST,
    clocks,
    traits: WOKEN_ENGINE,
    faults: serverFaults({ ensemble, peers }),
    // No fence is ever lost.
    userFaults: ({ crew }) => clockFaults(clocks, crew, new LostFences(), false),
    probe: () => probing.backend.read("probe"),
    ensemble,
    left: () => zookeeperLeft(ensemble, locks, { own: [probing.session] }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
