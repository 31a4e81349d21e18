import type { ZookeeperEnsemble } from "../../../support/zookeeper_server.ts";
import type { Left } from "../deployment.ts";
import { leftIn } from "../documents.ts";
import { connectTo } from "./connection.ts";
import { sessionsOf } from "./sessions.ts";

/** Whose sessions there may be, and how long the next user of a lock may wait, in milliseconds. */
interface Expected {
  readonly own?: readonly bigint[];
  readonly wait?: number;
}

/** Returns what is in the nodes when each lock was used once more, and the sessions of clients that have gone. */
export async function zookeeperLeft(
  ensemble: ZookeeperEnsemble,
  locks: readonly string[],
  { own = [], wait }: Expected = {},
): Promise<Left> {
  const looking = connectTo(ensemble.servers.map(({ port }) => port));
  try {
    const entries = await leftIn(looking.backend, locks, wait);
    const { leader } = await ensemble.roles();
    const sessions = (await sessionsOf(leader)).filter((session) => ![...own, looking.session].includes(session));
    return { entries, connections: sessions.map((session) => `session 0x${session.toString(16)}`) };
  } finally {
    await looking.close();
  }
}
