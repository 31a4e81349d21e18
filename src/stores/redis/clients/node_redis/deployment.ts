import type { NodeRedisClient } from "../client.ts";
import { duplicate, type NodeRedisOptions, type PlainNodeRedis } from "./second_connection.ts";

/** Sends a command by its words. */
type SendWords = (words: string[]) => Promise<unknown>;

/** The differences between a client of one server, a pool, and the clients of a Cluster and of Sentinels. */
export interface NodeRedisDeployment {
  readonly isCluster?: boolean;
  /** Whether the client reports its connections only by the event `error`. */
  readonly isSilent?: boolean;
  /** The event of a client that was closed; left out where there is no such event. */
  readonly closeEvent?: string | undefined;
  /** The options of its connections, if it exposes them. */
  readonly options: NodeRedisOptions | undefined;
  /** The database of its keys, of one server. */
  readonly database?: number;
  /** The address of the server, if it is one server and known. */
  readonly address: string | undefined;
  /** The servers whose keys can be searched. */
  readonly masters: readonly { readonly address: string; readonly send: SendWords }[];
  /** Returns functions that make a second connection, the best first. */
  duplicates(): (() => Promise<PlainNodeRedis>)[];
  /**
   * Subscribes to the events of single servers: `cut` is called when a connection was cut or could not be made, `moved`
   * when the client has left a server for another.
   */
  watch?(listener: { cut(error: Error): void; moved(): void }): void;
}

/** Returns the differences for a client by its kind. */
export function deploymentOf(client: NodeRedisClient): NodeRedisDeployment {
  if ("nodeClient" in client) return cluster(client as unknown as NodeRedisCluster);
  if ("getMasterNode" in client) return sentinels(client as unknown as NodeRedisSentinel);
  if ("execute" in client) return pool(client as unknown as NodeRedisPool);
  return single(client as unknown as NodeRedisSingle);
}

interface NodeRedisSingle extends PlainNodeRedis {
  sendCommand: SendWords;
}

function single(client: NodeRedisSingle): NodeRedisDeployment {
  return {
    closeEvent: "end",
    get options() {
      return client.options ?? {};
    },
    database: client.options?.database ?? 0,
    get address() {
      const { host = "localhost", port = 6379, path } = client.options?.socket ?? {};
      return path === undefined ? `${host}:${port}` : undefined;
    },
    masters: [{ address: "", send: (words) => client.sendCommand(words) }],
    duplicates: () => [() => Promise.resolve(duplicate(client))],
  };
}

interface NodeRedisPool {
  sendCommand: SendWords;
  execute<T>(call: (client: PlainNodeRedis) => T): Promise<T>;
}

function pool(client: NodeRedisPool): NodeRedisDeployment {
  return {
    isSilent: true,
    options: undefined,
    address: undefined,
    masters: [{ address: "", send: (words) => client.sendCommand(words) }],
    duplicates: () => [() => client.execute(duplicate)],
  };
}

/** A client of Sentinels. Only the method with an underscore gives access to the client of the master. */
interface NodeRedisSentinel {
  sendCommand(isReadonly: boolean, words: string[]): Promise<unknown>;
  _execute<T>(isReadonly: boolean, call: (client: PlainNodeRedis) => Promise<T>): Promise<T>;
  getMasterNode(): { readonly host: string; readonly port: number } | undefined;
  on(event: string, listener: (event: { readonly type: string; readonly error: Error }) => void): unknown;
}

function sentinels(client: NodeRedisSentinel): NodeRedisDeployment {
  return {
    options: undefined,
    get address() {
      const { host, port } = client.getMasterNode() ?? {};
      return host === undefined ? undefined : `${host}:${port}`;
    },
    masters: [{ address: "", send: (words) => client.sendCommand(false, words) }],
    duplicates: () => [() => client._execute(false, (master) => Promise.resolve(duplicate(master)))],
    watch({ cut, moved }) {
      client.on("client-error", ({ type, error }) => type === "MASTER" && cut(error));
      client.on("topology-change", ({ type }) => type === "MASTER_CHANGE" && moved());
    },
  };
}

interface NodeRedisCluster {
  readonly _options: { readonly defaults?: NodeRedisOptions | undefined };
  readonly masters: readonly NodeRedisNode[];
  readonly replicas: readonly NodeRedisNode[];
  nodeClient(node: NodeRedisNode): Promise<NodeRedisSingle>;
  on(event: string, listener: (error: Error, node: { readonly host: string; readonly port: number }) => void): unknown;
}

interface NodeRedisNode {
  readonly address: string;
  readonly client?: { readonly isReady: boolean } | undefined;
}

function cluster(client: NodeRedisCluster): NodeRedisDeployment {
  return {
    isCluster: true,
    closeEvent: "disconnect",
    options: client._options.defaults ?? {},
    address: undefined,
    get masters() {
      return client.masters.map((node) => ({
        address: node.address,
        send: async (words: string[]) => await (await client.nodeClient(node)).sendCommand(words),
      }));
    },
    duplicates() {
      const nodes = [...client.masters, ...client.replicas];
      // Connected ones first, in random order, so that no node has to serve all clients.
      const order = new Map(nodes.map((node) => [node, Math.random() - Number(node.client?.isReady ?? false)]));
      nodes.sort((a, b) => order.get(a)! - order.get(b)!);
      return nodes.map((node) => async () => duplicate(await client.nodeClient(node)));
    },
    watch({ cut }) {
      client.on("node-error", (cause, { host, port }) => {
        cut(new Error(`node ${host}:${port}: ${cause.message}`, { cause }));
      });
    },
  };
}
