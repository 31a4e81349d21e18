import { Cluster, type Redis } from "ioredis";
import { HANG_MS, until } from "../support/until.ts";
import { closed, RedisServer } from "../support/redis_server.ts";
import { slot } from "../../src/stores/redis/keys/keys.ts";
import { cutReplication, FOLLOWING, inStep, mendReplication, startAll } from "./replicated.ts";
import { SLOTS, slots } from "./slots.ts";

/** How long a node must be silent before the others take it for dead, in milliseconds. */
const NODE_TIMEOUT = 1_000;

/** How long clients wait between two tries to connect, in milliseconds. */
const RETRY = 50;

/** One node of a Cluster. */
export interface ClusterNode {
  readonly server: RedisServer;
  /** Its id. */
  readonly id: string;
}

/** A Redis Cluster on the loopback interface. */
export class ClusterDeployment implements AsyncDisposable {
  /** The first masters, then their replicas in the same order. */
  readonly nodes: readonly ClusterNode[];
  readonly #stack: AsyncDisposableStack;
  readonly #clients: (Redis | Cluster)[] = [];

  private constructor(nodes: readonly ClusterNode[], stack: AsyncDisposableStack) {
    this.nodes = nodes;
    this.#stack = stack;
  }

  /**
   * Starts so many masters that share the slots, with so many replicas each; settings are further ones of the nodes.
   */
  static async start({ masters = 3, replicas = 1, settings = [] as string[] } = {}): Promise<ClusterDeployment> {
    await using stack = new AsyncDisposableStack();
    const start = () =>
      RedisServer.start([
        ...["--cluster-enabled", "yes", "--cluster-node-timeout", `${NODE_TIMEOUT}`],
        ...["--cluster-allow-replica-migration", "no", "--cluster-announce-ip", "127.0.0.1", ...FOLLOWING, ...settings],
      ]);
    const servers = await startAll(Array(masters * (1 + replicas)).fill(start), stack);
    const nodes = await Promise.all(servers.map(async (server) => {
      return { server, id: String(await server.command("CLUSTER", "MYID")) };
    }));
    const [first, ...others] = servers as [RedisServer, ...RedisServer[]];
    await Promise.all(
      servers.slice(0, masters).map(async (server, i) => {
        const [from, to] = [i, i + 1].map((part) => Math.floor(SLOTS * part / masters)) as [number, number];
        // Only makes the start quicker: epochs that are alike the nodes tell apart by themselves, and one may have its
        // own.
        await server.command("CLUSTER", "SET-CONFIG-EPOCH", i + 1).catch(() => {});
        await server.command("CLUSTER", "ADDSLOTS", ...slots(from, to));
      }),
    );
    await Promise.all(others.map((each) => each.command("CLUSTER", "MEET", "127.0.0.1", first.port)));
    const known = async (server: RedisServer) => (await states(server)).length === servers.length;
    const allKnown = async () => (await Promise.all(servers.map(known))).every(Boolean);
    await until(allKnown, "all nodes know of each other", HANG_MS);
    await Promise.all(
      nodes.slice(masters).map(({ server }, i) => {
        return server.command("CLUSTER", "REPLICATE", nodes[i % masters]!.id);
      }),
    );
    const deployment = new ClusterDeployment(nodes, stack.move());
    try {
      await deployment.ready();
    } catch (error) {
      await deployment[Symbol.asyncDispose]();
      throw error;
    }
    return deployment;
  }

  /** Where the nodes are, for a client of any version of ioredis. */
  get addresses(): { host: string; port: number }[] {
    return this.nodes.map(({ server }) => ({ host: "127.0.0.1", port: server.port }));
  }

  /** A new client, closed with the deployment. */
  connect(options: ConstructorParameters<typeof Cluster>[1] = {}): Cluster {
    return this.adopt(new Cluster(this.addresses, { clusterRetryStrategy: () => RETRY, ...options }));
  }

  /** Closes a client with this deployment. */
  adopt<T extends Parameters<RedisServer["adopt"]>[0]>(client: T): T {
    client.on("error", () => {});
    this.#clients.push(client as unknown as Redis);
    return client;
  }

  /** Waits until every node says that all is well and every replica is in step. */
  async ready(): Promise<void> {
    const isWell = async () => {
      const well = await Promise.all(this.nodes.map(async ({ server }) => {
        const info = String(await server.command("CLUSTER", "INFO").catch(() => ""));
        const all = await states(server);
        return info.includes("cluster_state:ok") && all.length === this.nodes.length &&
          all.every(({ flags, link }) => !/fail|handshake|noaddr/.test(flags) && link === "connected") &&
          (all.find(({ flags }) => flags.includes("myself"))?.flags.includes("master") || await inStep(server));
      }));
      return well.every(Boolean);
    };
    await until(isWell, "the Cluster is well", HANG_MS);
  }

  /** The number of the last election of which a node knows, of all masters. */
  async epoch(): Promise<number> {
    const infos = await Promise.all(this.nodes.map(({ server }) => server.command("CLUSTER", "INFO").catch(() => "")));
    return Math.max(...infos.map((info) => Number(/cluster_current_epoch:(\d+)/.exec(String(info))?.[1] ?? 0)));
  }

  /** The master of a key's slot, as most nodes know it; rejects while there is none. */
  async masterOf(key: string): Promise<ClusterNode> {
    const wanted = slot(key);
    const votes = new Map<string, number>();
    for (const all of await Promise.all(this.nodes.map(({ server }) => states(server)))) {
      const owner = all.find(({ flags, slots }) => /master/.test(flags) && slots.some(holds(wanted)));
      if (owner !== undefined) votes.set(owner.id, (votes.get(owner.id) ?? 0) + 1);
    }
    const [most] = [...votes].sort(([, a], [, b]) => b - a);
    if (most === undefined) throw new Error(`no node knows who has slot ${wanted}`);
    return this.#node(most[0]);
  }

  /** The masters, as the node with this server knows them. */
  async masters(): Promise<ClusterNode[]> {
    const all = await Promise.all(this.nodes.map(({ server }) => states(server)));
    const most = all.reduce((a, b) => b.length > a.length ? b : a);
    return most.filter(({ flags }) => /master/.test(flags) && !/fail/.test(flags)).map(({ id }) => this.#node(id));
  }

  /** The replicas of a master. */
  async replicasOf(master: ClusterNode): Promise<ClusterNode[]> {
    const all = await states(master.server);
    return all.filter((each) => each.master === master.id).map(({ id }) => this.#node(id));
  }

  /** Waits until another node than this one is the master of a key's slot, and says so itself. Gives it. */
  async promoted(key: string, old: ClusterNode): Promise<ClusterNode> {
    let next: ClusterNode | undefined;
    const isPromoted = async () => {
      next = await this.masterOf(key).catch(() => undefined);
      if (next === undefined || next === old) return false;
      return String(await next.server.command("CLUSTER", "INFO").catch(() => "")).includes("cluster_state:ok");
    };
    await until(isPromoted, `another node is the master of ${key}`, HANG_MS);
    return next!;
  }

  /** Promotes a replica of the master of a key's slot while that is well; resolves when it is. */
  async failover(key: string): Promise<ClusterNode> {
    const old = await this.masterOf(key);
    let replica: ClusterNode | undefined;
    // One that was started a moment ago is not known to its master yet.
    await until(async () => (replica = (await this.replicasOf(old))[0]) !== undefined, `${key} has a replica`);
    await replica!.server.command("CLUSTER", "FAILOVER");
    return await this.promoted(key, old);
  }

  /** Has the replicas of a key's master hear of no further write: what it does from now on is lost when it fails. */
  async cutReplication(key: string): Promise<void> {
    await cutReplication((await this.masterOf(key)).server);
  }

  /** Lets them follow it again. */
  async mendReplication(key: string): Promise<void> {
    await mendReplication((await this.masterOf(key)).server);
  }

  /** Begins to move a key's slot to another master: from now on a key that is not there any more is to be asked for. */
  async migrate(key: string, target?: ClusterNode): Promise<SlotMigration> {
    const from = await this.masterOf(key);
    const to = target ?? (await this.masters()).find((each) => each.id !== from.id)!;
    await to.server.command("CLUSTER", "SETSLOT", slot(key), "IMPORTING", from.id);
    await from.server.command("CLUSTER", "SETSLOT", slot(key), "MIGRATING", to.id);
    return new SlotMigration(this, slot(key), from, to);
  }

  /** The keys on all masters that answer, without fences. */
  async leftovers(): Promise<string[]> {
    const keys = (await this.masters()).map(({ server }) =>
      server.command("PING").then(() => server.leftovers(), () => [])
    );
    return (await Promise.all(keys)).flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { server } of this.nodes) server.thaw();
    // Before the servers: a client that looks for them does not hear that it was closed.
    await Promise.all(this.#clients.map(closed));
    await this.#stack.disposeAsync();
  }

  #node(id: string): ClusterNode {
    return this.nodes.find((each) => each.id === id)!;
  }
}

/** A slot on its way from one master to another, step by step. */
export class SlotMigration {
  readonly slot: number;
  readonly from: ClusterNode;
  readonly to: ClusterNode;
  readonly #cluster: ClusterDeployment;

  constructor(cluster: ClusterDeployment, slot: number, from: ClusterNode, to: ClusterNode) {
    this.#cluster = cluster;
    this.slot = slot;
    this.from = from;
    this.to = to;
  }

  /** Moves these keys, or those that are still there. */
  async moveKeys(...keys: string[]): Promise<void> {
    const { from, to, slot } = this;
    const all = keys.length > 0 ? keys : await from.server.command("CLUSTER", "GETKEYSINSLOT", slot, 1_000) as string[];
    if (all.length === 0) return;
    await from.server.command("MIGRATE", "127.0.0.1", to.server.port, "", 0, 5_000, "REPLACE", "KEYS", ...all);
  }

  /** Moves what is left, and tells all masters, the new one first, who has the slot now. */
  async finish(): Promise<void> {
    const { from, to, slot } = this;
    await this.moveKeys();
    const others = (await this.#cluster.masters()).filter((each) => each.id !== to.id && each.id !== from.id);
    for (const { server } of [to, from, ...others]) {
      for (;;) {
        try {
          await server.command("CLUSTER", "SETSLOT", slot, "NODE", to.id);
          break;
        } catch (error) {
          // A key was made there after the last ones were moved.
          if (server !== from.server || !String(error).includes("still hold keys")) throw error;
          await this.moveKeys();
        }
      }
    }
  }
}

interface NodeState {
  readonly id: string;
  readonly flags: string;
  readonly master: string;
  readonly link: string;
  readonly slots: string[];
}

/** What a node knows of all nodes; nothing when it does not answer. */
async function states(server: RedisServer): Promise<NodeState[]> {
  const reply = String(await server.command("CLUSTER", "NODES").catch(() => ""));
  return reply.split("\n").filter((line) => line !== "").map((line) => {
    const [id = "", , flags = "", master = "", , , , link = "", ...slots] = line.split(" ");
    return { id, flags, master, link, slots };
  });
}

/** Whether "7" or "0-99" holds a slot; what stands in brackets is on its way. */
function holds(wanted: number): (range: string) => boolean {
  return (range) => {
    if (range.startsWith("[")) return false;
    const [from, to = from] = range.split("-").map(Number) as [number, number?];
    return wanted >= from && wanted <= to;
  };
}
