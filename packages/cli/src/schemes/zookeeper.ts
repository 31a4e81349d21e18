import { SystemClock } from "../time/clock.ts";
import { UsageError } from "../command.ts";
import { answerTo, type ExaminedZookeeper, zookeeperPatient } from "../doctor/zookeeper.ts";
import { shown } from "../terminal/shown.ts";
import { type Address, hostAndPort } from "./address.ts";
import { loadClientLibrary } from "./client_library.ts";
import { type ConnectedStore, type Places, servers } from "./servers.ts";
import { partsOf } from "./url_parts.ts";

const FORM = { example: "zookeeper://127.0.0.1:2181", port: 2181, parameters: ["path"] };

/** Opens ZooKeeper. */
export const zookeeper = servers({
  protocols: ["zookeeper:"],
  example: FORM.example,
  read: readZookeeperUrl,
  connect,
});

/** The default path of the store. */
const PATH = "/holdfast";

/** The pause before the client tries all servers again, in milliseconds. */
const SPIN_MS = 100;

/** The code of a connected client's state. */
const CONNECTED = 3;

/** The parts of a URL. */
interface ZookeeperPlace {
  readonly addresses: readonly Address[];
  readonly chroot: string;
  readonly path: string;
  /** `user:password` for digest authentication. */
  readonly user: string | undefined;
  readonly label: string;
}

/** A client, with its end. */
interface OpenedClient extends ExaminedZookeeper {
  close(): void;
  addAuthInfo(scheme: string, auth: Uint8Array): void;
  readonly connectionManager: { connect(): void; readonly socket?: { destroy(): void } };
}

/** The used part of the package `node-zookeeper-client`. */
interface ZookeeperModule {
  createClient(servers: string, options: object): OpenedClient;
}

async function connect([place]: Places<ZookeeperPlace>): Promise<ConnectedStore> {
  const loaded = await loadClientLibrary<ZookeeperModule & { readonly default?: ZookeeperModule }>(
    { of: "ZooKeeper", name: "node-zookeeper-client", version: "^1.1" },
  );
  const { zookeeper } = await import("@holdfast/lock/zookeeper");
  const { addresses, chroot, path, user } = place;
  const { createClient } = loaded.default ?? loaded;
  const client = createClient(addresses.map(hostAndPort).join() + chroot, { spinDelay: SPIN_MS });
  if (user !== undefined) client.addAuthInfo("digest", client.getSessionId().constructor.from(user));
  client.connect();
  const store = zookeeper(client, { path });
  return {
    store,
    ready: async (existing) => {
      if (existing) await checkExists(client, place);
    },
    patient: () => zookeeperPatient(client, { ...place, store, close: () => close(client) }),
    close: () => close(client),
  };
}

/**
 * Closes a client. A client closed while it connects would throw where nobody can catch the error: it is made to give
 * up.
 */
async function close(client: OpenedClient): Promise<void> {
  if (client.getState().getCode() === CONNECTED) return client.close();
  const { connectionManager } = client;
  connectionManager.connect = () => {};
  connectionManager.socket?.destroy();
  // It may have been about to connect.
  await new SystemClock().sleep(2 * SPIN_MS);
  connectionManager.socket?.destroy();
}

async function checkExists(client: OpenedClient, { path, label }: ZookeeperPlace): Promise<void> {
  const [stat] = await answerTo<[object | null]>((done) => client.exists(path, () => {}, done));
  if (stat !== null) return;
  const made = "it is made by the first program that acquires a lock below it";
  throw new UsageError(`there is no node ${shown(path)} in ${shown(label)}: ${made}`);
}

/** Reads a URL such as `zookeeper://user:password@host:2181,host:2181/chroot?path=/locks`. */
export function readZookeeperUrl(url: URL): ZookeeperPlace {
  const { label, addresses, username, password = "", path: nodes, parameters, fail } = partsOf(url, FORM);
  // The client takes all behind the first colon for the port.
  if (addresses.some(({ host }) => host.includes(":"))) throw fail("has an IPv6 address: the client needs a host name");
  const { path = PATH } = parameters;
  if (!/^(\/[^/]+)+$/.test(path)) throw fail(`has the path ${shown(path)}: write one such as ${PATH}`);
  const user = username === undefined ? undefined : `${username}:${password}`;
  return { addresses, chroot: nodes.map((node) => `/${node}`).join(""), path, user, label };
}
