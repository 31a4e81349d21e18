import { TcpProxy } from "./tcp_proxy.ts";
import type { PeerWay, ZookeeperEnsemble, ZookeeperServer } from "./zookeeper_server.ts";

/** A proxy on each way from one server of an ensemble to another one. */
export class PeerProxies implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  readonly #proxies = new Map<string, TcpProxy>();

  /** Makes a proxy on a way, as `ZookeeperEnsemble.start` needs it, and returns its port. */
  readonly reached = async ({ from, to, port }: PeerWay): Promise<number> => {
    const proxy = this.#stack.use(await TcpProxy.start(port));
    // Servers that did not start on their ports are started once more on others: the last way is the one in use.
    this.#proxies.set(`${from} to ${to}`, proxy);
    return proxy.port;
  };

  /** Returns the proxy between a server that follows and its leader. */
  between({ servers }: ZookeeperEnsemble, follower: ZookeeperServer, leader: ZookeeperServer): TcpProxy {
    return this.#proxies.get(`${servers.indexOf(follower) + 1} to ${servers.indexOf(leader) + 1}`)!;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}
