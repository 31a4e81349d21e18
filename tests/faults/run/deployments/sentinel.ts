import { SentinelDeployment } from "../../../deployments/sentinel.ts";
import { TcpProxy } from "../../../support/tcp_proxy.ts";
import { type Fault, pause, serverFault } from "../fault.ts";
import { redisLeft } from "../redis/left.ts";
import { commandFaults, promoting } from "../redis/server_faults.ts";
import { freezing } from "../freezing.ts";
import { nat } from "../redis/nat.ts";
import { REQUEST, TRAITS } from "../redis/traits.ts";
import type { Deployment } from "../deployment.ts";

/** How long a Sentinel may be frozen, in milliseconds: after 2 s it distrusts its clock and does nothing for 30 s. */
const TILT = 1_500;

/** Starts a master with two replicas and three Sentinels. A failover loses what the replicas have not received. */
export async function sentinel(): Promise<Deployment> {
  await using stack = new AsyncDisposableStack();
  const deployment = stack.use(await SentinelDeployment.start());
  const { servers, sentinels, address } = deployment;
  const proxies = await Promise.all(servers.map(async ({ port }) => stack.use(await TcpProxy.start(port))));
  const ready = () => deployment.ready();
  const master = async () => {
    // After a failover of their own the Sentinels may not agree on the master for a while.
    await ready();
    return await deployment.master();
  };
  const ward = { servers: async () => [await master()] };
  const dying = (kind: string, cut: boolean): Fault =>
    serverFault(kind, true, async (random, over, endBreach) => {
      const old = await master();
      if (cut) {
        await deployment.cutReplication();
        await pause(random.spread(10, 1_000), over);
      }
      await old.kill();
      await deployment.promoted(old);
      // What has come through is on the new master; the old one is gone.
      await promoting(() => deployment.epoch(), endBreach, async () => {
        await deployment.rejoin(old);
        await ready();
      });
    });
  const failover = serverFault("failover", true, async () => {
    await deployment.failover();
    await ready();
  });
  const masters = async () => [await deployment.master()];
  const owned = stack.move();
  return {
    target: (ports) => {
      return { kind: "sentinel", ...address, sentinels: address.sentinels as Addresses, nat: nat(servers, ports) };
    },
    ports: servers.map(({ port }) => port),
    proxies,
    request: REQUEST,
    traits: TRAITS,
    faults: [
      ...commandFaults(ward).map((fault) => fault.kind === "CLIENT PAUSE" ? outage(fault, ready) : fault),
      freezing(ward, true, ready),
      { ...freezing({ servers: () => Promise.resolve(sentinels) }, false, ready, TILT), kind: "Sentinel frozen" },
      dying("master killed", false),
      dying("writes lost", true),
      failover,
    ],
    masters,
    left: async () => await redisLeft(await masters()),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/**
 * Returns an outage of the network. The Sentinels are clients too: a master that does not answer them is dead for them.
 */
function outage(fault: Fault, ready: () => Promise<void>): Fault {
  const inject: Fault["inject"] = async (random, over, endBreach) => {
    const injected = await fault.inject(random, over, endBreach);
    await ready();
    return injected;
  };
  return { ...fault, breach: true, inject };
}

type Addresses = readonly { readonly host: string; readonly port: number }[];
