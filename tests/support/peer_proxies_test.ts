// Deno only: it starts proxies, which workers cannot.
import { assertEquals } from "@std/assert";
import { PeerProxies } from "./peer_proxies.ts";
import type { ZookeeperEnsemble, ZookeeperServer } from "./zookeeper_server.ts";

Deno.test("PeerProxies.between() returns the proxy of the servers' last start", async () => {
  await using proxies = new PeerProxies();
  const ports = [
    await proxies.reached({ from: 2, to: 1, port: 1 }),
    await proxies.reached({ from: 2, to: 1, port: 1 }),
  ];
  const [leader, follower] = [{}, {}] as ZookeeperServer[];
  const ensemble = { servers: [leader, follower] } as unknown as ZookeeperEnsemble;
  assertEquals(proxies.between(ensemble, follower!, leader!).port, ports[1]);
});
