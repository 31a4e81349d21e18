import type { EtcdCluster } from "../../../support/etcd_server.ts";
import type { Left } from "../deployment.ts";
import { leftIn } from "../documents.ts";
import { connectTo } from "./connection.ts";

/** Returns what is in the documents when each lock was used once more, and the watches of clients that have gone. */
export async function etcdLeft({ members }: EtcdCluster, locks: readonly string[], wait?: number): Promise<Left> {
  const { backend, close } = connectTo(members.map(({ port }) => port));
  const entries = await leftIn(backend, locks, wait).finally(close);
  const watches = await Promise.all(members.map((member) => member.metric("etcd_debugging_mvcc_watcher_total")));
  return {
    entries,
    connections: watches.flatMap((count, i) => count === 0 ? [] : [`${count} watches of member ${i}`]),
  };
}
