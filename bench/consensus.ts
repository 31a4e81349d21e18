import { acquire, type Observer } from "@holdfast/lock";
import { etcd } from "@holdfast/lock/etcd";
import { zookeeper } from "@holdfast/lock/zookeeper";
import { EtcdCluster } from "../tests/support/etcd_server.ts";
import { closeClient, connected, type TestClient, ZookeeperEnsemble } from "../tests/support/zookeeper_server.ts";
import { curatorPair, curatorPath, requests } from "./curator.ts";
import { barePair, etcdCounts, read } from "./etcd.ts";
import { besideEtcd3, besideEtcdctl } from "./etcd_peers.ts";
import type { Figure } from "./figure.ts";
import { handoffs } from "./handoff.ts";
import type { Bench } from "./row.ts";
import { compare } from "./uncontended.ts";
import { type Executed, polling } from "./waiters.ts";
import { contest, withoutRunsAndWith } from "./workers.ts";

/** How long the queue is where handoffs are measured. */
const WAITERS = [1, 100];

/** For so many seconds a lock is held while it is counted what its waiters send. */
const SECONDS = 60;

/** Measures the store in etcd: one member, and three. All of them wait for the disk with each write. */
export async function onEtcd(bench: Bench): Promise<Figure[]> {
  const one = await etcdCluster(1, bench);
  const [pair, alone, ...rest] = await onCluster(one, bench);
  const [member] = one.members;
  const beside = [await besideEtcdctl(alone!, member!, bench), await besideEtcd3(pair!, member!, bench)];
  const three = await etcdCluster(3, bench);
  const open = () => etcd({ endpoints: three.endpoints });
  const name = titleOf(three);
  return [
    ...[pair!, alone!, ...rest, ...beside],
    ...await onCluster(three, bench),
    ...await polling({ name, seconds: SECONDS, open, executed: () => executedByEtcd(three) }, bench),
    ...await contest({ name, sides: withoutRunsAndWith(open) }, bench),
  ];
}

async function etcdCluster(members: number, { directory, stack }: Bench): Promise<EtcdCluster> {
  return stack.use(await EtcdCluster.start(members, [], { parent: directory }));
}

function titleOf({ members: { length } }: EtcdCluster): string {
  return `etcd, ${length} ${length === 1 ? "member" : "members"}`;
}

/** Measures pairs, then handoffs. */
async function onCluster(cluster: EtcdCluster, bench: Bench): Promise<Figure[]> {
  const { endpoints } = cluster;
  const store = etcd({ endpoints });
  const figures = [
    await compare(
      {
        what: `${titleOf(cluster)}: acquire + release`,
        ours: async () => {
          await using _lock = await acquire(store, "ours");
        },
        reference: () => barePair(endpoints[0]!, "bare"),
        against: "bare transactions",
        target: { bound: "at least", value: 0.8 },
      },
      { loops: 1, pairs: 50, seconds: 14 },
      bench,
    ),
  ];
  for (const waiters of WAITERS) {
    figures.push(
      ...await handoffs({
        what: `${titleOf(cluster)}: handoff`,
        waiters,
        open: (observer) => etcd({ endpoints, observer }),
        client: { ping: () => read(endpoints[0]!, "bare") },
        ping: "linearizable read",
        most: 5,
      }, bench),
    );
  }
  return figures;
}

async function executedByEtcd({ endpoints }: EtcdCluster): Promise<Executed> {
  const counts = await Promise.all(endpoints.map(etcdCounts));
  return {
    statements: counts.reduce((sum, { calls }) => sum + calls!, 0),
    writes: Math.max(...counts.map(({ revisions }) => revisions!)),
  };
}

/** Measures the store in ZooKeeper, with three servers that wait for the disk with each write. */
export async function onZookeeper(bench: Bench): Promise<Figure[]> {
  const ensemble = bench.stack.use(await ZookeeperEnsemble.start(3, { java: ["-Dzookeeper.forceSync=yes"] }));
  const client = zookeeperClient(ensemble, bench);
  const open = (observer?: Observer) => zookeeper(zookeeperClient(ensemble, bench), { observer });
  const name = "ZooKeeper, 3 servers";
  const store = zookeeper(client);
  await curatorPath(client);
  const figures = [
    ...await requests({ name, client, ensemble }),
    await compare(
      {
        what: `${name}: acquire + release`,
        ours: async () => {
          await using _lock = await acquire(store, "ours");
        },
        reference: () => curatorPair(client),
        against: "Curator's requests",
      },
      { loops: 1, pairs: 50, seconds: 14 },
      bench,
    ),
  ];
  for (const waiters of WAITERS) {
    const ping = () => new Promise<void>((resolve) => client.getChildren("/", () => resolve()));
    figures.push(
      ...await handoffs({ what: `${name}: handoff`, waiters, open, client: { ping }, ping: "getChildren" }, bench),
    );
  }
  return [
    ...figures,
    ...await polling({ name, seconds: SECONDS, open, executed: () => executedByZookeeper(ensemble) }, bench),
    ...await contest({ name, sides: withoutRunsAndWith(open) }, bench),
  ];
}

function zookeeperClient({ address }: ZookeeperEnsemble, { stack }: Bench): TestClient {
  const client = connected(address);
  stack.defer(() => closeClient(client));
  return client;
}

/** Also the pings of the sessions: one each for 10 s. */
async function executedByZookeeper({ servers }: ZookeeperEnsemble): Promise<Executed> {
  const answers = await Promise.all(servers.map((server) => server.command("srvr")));
  const numbers = (pattern: RegExp) => answers.map((answer) => Number(answer.match(pattern)?.[1]));
  return {
    statements: numbers(/^Received: (\d+)$/m).reduce((sum, received) => sum + received),
    // Each write, and nothing else while no session begins or ends, takes the next number.
    writes: Math.max(...numbers(/^Zxid: (0x[\da-f]+)$/m)),
  };
}
