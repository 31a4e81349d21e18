import { ClusterDeployment } from "../../../deployments/cluster.ts";
import type { RedisServer } from "../../../support/redis_server.ts";
import type { Random } from "../../../simulation/kernel/random.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import { type Fault, pause, serverFault } from "../fault.ts";
import { redisLeft } from "../redis/left.ts";
import { commandFaults, promoting } from "../redis/server_faults.ts";
import { freezing } from "../freezing.ts";
import { nat } from "../redis/nat.ts";
import { KEPT_TURNS, REQUEST } from "../redis/traits.ts";
import type { Deployment } from "../deployment.ts";

/** Starts a Cluster of three masters with a replica each. A failover loses what the replica has not received. */
export async function cluster(locks: readonly string[]): Promise<Deployment> {
  await using stack = new AsyncDisposableStack();
  const deployment = stack.use(await ClusterDeployment.start());
  const servers = deployment.nodes.map(({ server }) => server);
  const proxies = await Promise.all(servers.map(async ({ port }) => stack.use(await TcpProxy.start(port))));
  const ready = () => deployment.ready();
  const key = (random: Random) => `lock:${random.pick(locks)}`;
  const ward = { servers: async (random: Random) => [(await deployment.masterOf(key(random))).server] };
  const fault = (
    kind: string,
    breach: boolean,
    run: (key: string, random: Random, over: AbortSignal, endBreach: () => void) => Promise<unknown>,
  ): Fault =>
    serverFault(kind, breach, async (random, over, endBreach) => {
      await run(key(random), random, over, endBreach);
      await ready();
    });
  const dying = (kind: string, cut: boolean) =>
    fault(kind, true, async (key, random, over, endBreach) => {
      const master = await deployment.masterOf(key);
      if (cut) {
        await deployment.cutReplication(key);
        await pause(random.spread(10, 1_000), over);
      }
      await master.server.kill();
      await deployment.promoted(key, master);
      // What has come through is on the new master; the old one will wait until it knows of that.
      await promoting(() => deployment.epoch(), endBreach, async () => {
        await master.server.start();
        await ready();
      });
    });
  const masters = async (): Promise<RedisServer[]> => (await deployment.masters()).map(({ server }) => server);
  const owned = stack.move();
  return {
    target: (ports) => ({
      kind: "cluster",
      nodes: ports.map((port) => ({ host: "127.0.0.1", port })),
      nat: nat(servers, ports),
    }),
    ports: servers.map(({ port }) => port),
    proxies,
    request: REQUEST,
    // While a slot is moved, clients wait before they send a command again, and send it also after they have rejected
    // it; and the nodes cannot tell that nobody receives the wake-ups of a dead waiter.
    traits: KEPT_TURNS,
    faults: [
      ...commandFaults(ward),
      freezing(ward, true, ready),
      dying("master killed", false),
      dying("writes lost", true),
      fault("failover", true, (key) => deployment.failover(key)),
      fault("slot moved", false, async (key, random, over) => {
        const migration = await deployment.migrate(key);
        await pause(random.spread(10, 500), over);
        await migration.moveKeys();
        await pause(random.spread(10, 500), over);
        await migration.finish();
      }),
    ],
    masters,
    left: async () => await redisLeft(await masters()),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
