import type { Random } from "../../../simulation/kernel/random.ts";
import type { PeerProxies } from "../../../support/peer_proxies.ts";
import type { Manners } from "../../../support/tcp_link.ts";
import { until } from "../../../support/until.ts";
import type { ZookeeperEnsemble, ZookeeperServer } from "../../../support/zookeeper_server.ts";
import { type Fault, pause, serverFault } from "../fault.ts";
import { freezing } from "../freezing.ts";
import { expire, sessionsOf } from "./sessions.ts";

/** How long something is wrong, in milliseconds: less than a follower may be silent, or more. */
const DURATION = [20, 4_000] as const;

/**
 * How long servers may take to be well again, in milliseconds: in an election they repeat some messages after a minute.
 */
const WELL_MS = 120_000;

/** How a follower and its leader do not hear each other, or one the other. */
const DEAF: readonly Manners[] = [{ requests: "hold" }, { replies: "hold" }, { requests: "hold", replies: "hold" }];

/** Servers, and the proxies between them. */
export interface ZookeeperWard {
  readonly ensemble: ZookeeperEnsemble;
  readonly peers: PeerProxies;
}

/** Returns what can happen to servers, which agree on all that they keep. */
export function serverFaults({ ensemble, peers }: ZookeeperWard): Fault[] {
  const { servers } = ensemble;
  const fault = (kind: string, run: (random: Random, lasting: () => Promise<void>) => Promise<unknown>): Fault =>
    serverFault(kind, false, async (random, over) => {
      await run(random, () => pause(random.spread(...DURATION), over));
      await allWell(ensemble);
    });
  const killed = async (victims: readonly ZookeeperServer[], lasting: () => Promise<void>) => {
    await Promise.all(victims.map((server) => server.kill()));
    await lasting();
    for (const server of victims) server.launch();
  };
  return [
    fault("leader killed", async (_, lasting) => await killed([(await rolesOf(ensemble)).leader], lasting)),
    fault("majority killed", async (random, lasting) => {
      const survivor = random.pick(servers);
      await killed(servers.filter((server) => server !== survivor), lasting);
    }),
    freezing({ servers: () => Promise.resolve(servers) }, false, () => allWell(ensemble), DURATION[1]),
    fault("follower cut off", async (random, lasting) => {
      const { leader, followers } = await rolesOf(ensemble);
      const proxy = peers.between(ensemble, random.pick(followers), leader);
      // Connections stay, so that it goes on answering its clients for as long as a follower may be silent.
      proxy.disturb(random.pick(DEAF));
      await lasting();
      proxy.resume();
    }),
    fault("sessions expired", async (random) => {
      const sessions = await sessionsOf((await rolesOf(ensemble)).leader);
      for (const session of sessions) if (random.chance(0.5)) await expire(ensemble, session);
    }),
  ];
}

/** Returns who leads, and who follows, when all servers do one of these. */
async function rolesOf(ensemble: ZookeeperEnsemble): ReturnType<ZookeeperEnsemble["roles"]> {
  await allWell(ensemble);
  return await ensemble.roles();
}

/** Resolves when there are a leader and its followers. */
async function allWell(ensemble: ZookeeperEnsemble): Promise<void> {
  const isWell = async () => {
    const roles = await ensemble.roles().catch(() => undefined);
    return roles?.followers.length === ensemble.servers.length - 1;
  };
  await until(isWell, "all servers lead or follow", WELL_MS);
}
