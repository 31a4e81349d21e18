import type { Random } from "../../../simulation/kernel/random.ts";
import type { EtcdCluster, EtcdServer } from "../../../support/etcd_server.ts";
import type { StalledDisks } from "../../../support/stalled_disks.ts";
import type { Manners } from "../../../support/tcp_link.ts";
import type { TcpProxy } from "../../../support/tcp_proxy.ts";
import { until } from "../../../support/until.ts";
import { type Fault, pause, serverFault } from "../fault.ts";
import { diskStalls } from "../disk_stalls.ts";
import { freezing } from "../freezing.ts";

/** How long something is wrong, in milliseconds. */
const DURATION = [20, 3_000] as const;

/** How long members may take to be well again, in milliseconds. */
const WELL_MS = 60_000;

/** Members, and the ways on which they reach each other. */
export interface EtcdWard {
  readonly cluster: EtcdCluster;
  /** What each member says goes through the proxy of the member that says it, in the order of the members. */
  readonly peers: readonly TcpProxy[];
  /** Their disks, by their names, where these can stall. */
  readonly disks: StalledDisks | undefined;
  /** The ways of the clients. */
  readonly proxies: readonly TcpProxy[];
}

/** Returns what can happen to members, which agree on all that they keep. */
export function serverFaults({ cluster, peers, proxies, disks }: EtcdWard): Fault[] {
  const { members } = cluster;
  const fault = (kind: string, run: (random: Random, over: AbortSignal) => Promise<unknown>): Fault =>
    serverFault(kind, false, async (random, over) => {
      await run(random, over);
      await allWell(cluster);
    });
  const lasting = (random: Random, over: AbortSignal) => pause(random.spread(...DURATION), over);
  const frozen = (kind: string, servers: (random: Random) => Promise<EtcdServer[]>): Fault => {
    return { ...freezing({ servers }, false, () => allWell(cluster)), kind };
  };
  const killed = async (victims: readonly EtcdServer[], random: Random, over: AbortSignal) => {
    await Promise.all(victims.map((member) => member.kill()));
    await lasting(random, over);
    await Promise.all(victims.map((member) => member.start(members, "existing")));
  };
  return [
    fault("leader killed", async (random, over) => await killed([await leaderOf(cluster)], random, over)),
    fault("majority killed", async (random, over) => {
      const survivor = random.pick(members);
      await killed(members.filter((member) => member !== survivor), random, over);
    }),
    frozen("leader frozen", async () => [await leaderOf(cluster)]),
    frozen("member frozen", () => Promise.resolve([...members])),
    // The leader renews leases in its memory meanwhile.
    ...diskStalls({ disks, name: async () => (await leaderOf(cluster)).name, well: () => allWell(cluster) }),
    fault("member cut off", async (random, over) => {
      const member = random.chance(0.5) ? await leaderOf(cluster) : random.pick(members);
      const proxy = peers[members.indexOf(member)]!;
      // It receives what the others say, and is not heard; or it is heard late.
      proxy.disturb(random.pick<Manners>([{ replies: "drop" }, { replies: "hold" }]));
      await lasting(random, over);
      proxy.resume();
    }),
    fault("member wiped", async (random, over) => {
      const member = random.pick(members);
      await member.kill();
      await lasting(random, over);
      await replace(member, members);
    }),
    fault("compaction", async () => {
      await compact(members[0]!);
      // New watches begin at revisions that are gone.
      for (const proxy of proxies) proxy.cut();
    }),
    fault("NOSPACE", async (random, over) => {
      await alarm(members, "ACTIVATE");
      await lasting(random, over);
      await alarm(members, "DEACTIVATE");
    }),
  ];
}

/** Returns the member that leads, when one does. */
async function leaderOf(cluster: EtcdCluster): Promise<EtcdServer> {
  await until(() => cluster.leader().then(() => true, () => false), "a member leads", WELL_MS);
  return await cluster.leader();
}

/** Resolves when each member answers what needs a leader. */
async function allWell({ members }: EtcdCluster): Promise<void> {
  const answers = (member: EtcdServer) => member.call("/v3/kv/range", { key: btoa("a") }).then(() => true, () => false);
  const all = async () => (await Promise.all(members.map(answers))).every((well) => well);
  await until(all, "all members answer", WELL_MS);
}

/** Replaces a member that has lost its data: the others forget the old one, and add a new one in its place. */
async function replace(member: EtcdServer, members: readonly EtcdServer[]): Promise<void> {
  const others = members.filter((each) => each !== member);
  const { members: known } = await others[0]!.call("/v3/cluster/member/list");
  const { ID } = known.find(({ name }) => name === member.name)!;
  await changed(others, "/v3/cluster/member/remove", { ID });
  await Deno.remove(`${member.directory}/data`, { recursive: true });
  await changed(others, "/v3/cluster/member/add", { peerURLs: [member.peerUrl] });
  await member.start(members, "existing");
}

/** Changes who the members are. They refuse that until all of them have been connected for 5 s. */
async function changed(members: readonly EtcdServer[], path: string, body: object): Promise<void> {
  let done = false;
  await until(
    async () => {
      for (const member of members) {
        done ||= await member.call(path, body).then(() => true, ({ message }: Error) => {
          // It was done by a call that nobody answered.
          return /member not found|Peer URLs already exists/.test(message);
        });
      }
      return done;
    },
    `${path} is done`,
    WELL_MS,
  );
}

/** Forgets all revisions but the present one. */
async function compact(member: EtcdServer): Promise<void> {
  const { header: { revision } } = await member.call("/v3/kv/range", { key: btoa("a") });
  await member.call("/v3/kv/compaction", { revision, physical: true }).catch(({ message }: Error) => {
    // Nothing was written since.
    if (!message.includes("compacted")) throw new Error(message);
  });
}

/** Raises the alarm that a full database raises, or disarms it. Writes are refused meanwhile. */
async function alarm([member]: readonly EtcdServer[], action: "ACTIVATE" | "DEACTIVATE"): Promise<void> {
  const { header } = await member!.call("/v3/maintenance/status");
  await member!.call("/v3/maintenance/alarm", { action, memberID: header.member_id, alarm: "NOSPACE" });
}
