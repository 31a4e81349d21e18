// Deno only: it listens on ports in the place of a server.
import { assert, assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { Cluster } from "ioredis";
import { Cluster as Cluster5 } from "ioredis5";
import { release } from "../../../src/stores/redis/scripts/generated.ts";
import { ClusterDeployment, type ClusterNode } from "../../deployments/cluster.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { until } from "../../support/until.ts";
import { handOver } from "./clients/hand_over.ts";
import { refused } from "../../support/refused.ts";

/** The own key of the lock "a". */
const KEY = "lock:a";

/** How long the lock is leased, in milliseconds: much longer than any of this takes. */
const LEASE = 60_000;

Deno.test("acquire() is woken in a Cluster, also when the node of its subscription died", async () => {
  // A Cluster that goes on without a part of its slots.
  await using cluster = await ClusterDeployment.start({
    replicas: 0,
    settings: ["--cluster-require-full-coverage", "no"],
  });
  const [holder, waiter] = [cluster.connect(), cluster.connect()];
  await handOver(holder, waiter, "a");
  const [node] = await subscribers(cluster);
  assert(node !== undefined, "the waiter's client is subscribed");
  // A lock that does not live on that node.
  let name = "";
  for (let i = 0; name === ""; i++) if ((await cluster.masterOf(`lock:${i}`)).id !== node.id) name = `${i}`;
  await handOver(holder, waiter, name, async () => {
    await node.server.kill();
    await until(async () => (await subscribers(cluster)).length > 0, "it is subscribed at another node");
  });
  await handOver(holder, waiter, name);
  assertEquals(await cluster.leftovers(), []);
});

Deno.test("Lock.release() in a Cluster resolves though it was sent twice", async () => {
  await using cluster = await ClusterDeployment.start({ replicas: 0 });
  const { port } = (await cluster.masterOf(KEY)).server;
  await using proxy = await TcpProxy.start(port);
  const client = cluster.connect({ natMap: { [`127.0.0.1:${port}`]: { host: "127.0.0.1", port: proxy.port } } });
  for (let i = 0; i < 2; i++) {
    const lock = await acquire(client, "a");
    const lost = proxy.loseReply(release.sha);
    await lock.release();
    await lost;
    assertEquals(await cluster.leftovers(), []);
  }
});

for (const [version, Client] of Object.entries({ 6: Cluster, 5: Cluster5 })) {
  Deno.test(`acquire() over ioredis ${version} refuses a name that pipelines hash wrongly`, async () => {
    await using cluster = await ClusterDeployment.start({ replicas: 0 });
    const client = new Client([...cluster.addresses], { enableAutoPipelining: true }) as Cluster;
    try {
      for (const name of ["{}x{y}", "a{}b}"]) {
        await refused(() => acquire(client, name, { wait: LEASE }), "ioredis hashes a key");
        // Without pipelines the server says where the lock is.
        await (await acquire(cluster.connect(), name)).release();
      }
      for (const name of ["{}", "x{}", "{x}{}y}", "a}b{c"]) await (await acquire(client, name)).release();
    } finally {
      client.disconnect();
    }
    assertEquals(await cluster.leftovers(), []);
  });
}

/** The nodes at which a client is subscribed. */
async function subscribers(cluster: ClusterDeployment): Promise<ClusterNode[]> {
  const lists = cluster.nodes.map(async (node) => {
    const list = await node.server.command("CLIENT", "LIST", "TYPE", "pubsub").catch(() => "");
    return / sub=[1-9]/.test(String(list)) ? [node] : [];
  });
  return (await Promise.all(lists)).flat();
}
