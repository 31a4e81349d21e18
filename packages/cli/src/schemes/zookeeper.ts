import type { ZookeeperStore } from "@holdfast/lock/zookeeper";
import { SystemClock } from "../time/clock.ts";
import { UsageError } from "../command.ts";
import type { Examination } from "../doctor/examination.ts";
import { answerTo, type ExaminedZookeeper, zookeeperPatient } from "../doctor/zookeeper.ts";
import { answerOf } from "../terminal/answer.ts";
import { shown } from "../terminal/shown.ts";
import { type Address, addressOf, checkNetwork, hostAndPort, networkPermission } from "./address.ts";
import { loadClientLibrary } from "./client_library.ts";
import type { OpenedStore, OpenOptions, Scheme, StoreUrls } from "./scheme.ts";
import { hostsOf, labelOf } from "./store_urls.ts";
import { checkParameters, decoded } from "./url_parts.ts";

/** Opens ZooKeeper. */
export const zookeeper: Scheme = {
  protocols: ["zookeeper:"],
  example: "zookeeper://127.0.0.1:2181",
  open,
  examination,
};

const PORT = 2181;

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

async function open([url]: StoreUrls, { existing = false }: OpenOptions = {}): Promise<OpenedStore> {
  const place = readZookeeperUrl(url);
  await checkNetwork(place.addresses);
  const { client, store } = await connect(place);
  const opened: OpenedStore = { store, label: place.label, [Symbol.asyncDispose]: () => close(client) };
  try {
    if (existing) await answerOf(opened, checkExists(client, place), new AbortController().signal);
    return opened;
  } catch (error) {
    await close(client);
    throw error;
  }
}

function examination([url]: StoreUrls): Examination {
  const place = readZookeeperUrl(url);
  return {
    permissions: place.addresses.map(networkPermission),
    async open() {
      const { client, store } = await connect(place);
      return zookeeperPatient(client, { ...place, store, close: () => close(client) });
    },
  };
}

async function connect(place: ZookeeperPlace): Promise<{ client: OpenedClient; store: ZookeeperStore }> {
  const loaded = await loadClientLibrary<ZookeeperModule & { readonly default?: ZookeeperModule }>(
    { of: "ZooKeeper", name: "node-zookeeper-client", version: "^1.1" },
  );
  const { zookeeper } = await import("@holdfast/lock/zookeeper");
  const { addresses, chroot, path, user } = place;
  const { createClient } = loaded.default ?? loaded;
  const client = createClient(addresses.map(hostAndPort).join() + chroot, { spinDelay: SPIN_MS });
  if (user !== undefined) client.addAuthInfo("digest", client.getSessionId().constructor.from(user));
  client.connect();
  return { client, store: zookeeper(client, { path }) };
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

/**
 * Reads a URL such as `zookeeper://user:password@host:2181,host:2181/chroot?path=/locks`.
 *
 * @throws {UsageError} which says what is wrong, without the password
 */
export function readZookeeperUrl(url: URL): ZookeeperPlace {
  const label = labelOf(url);
  const fail = (what: string) => new UsageError(`${shown(label)} ${what}`);
  checkParameters(url, ["path"], fail);
  const addresses = hostsOf(url).map((host) => addressOf(host, PORT, fail));
  if (addresses.length === 0) throw fail("must name a server: zookeeper://127.0.0.1:2181");
  // The client takes all behind the first colon for the port.
  if (addresses.some(({ host }) => host.includes(":"))) throw fail("has an IPv6 address: the client needs a host name");
  const path = url.searchParams.get("path") ?? PATH;
  if (!/^(\/[^/]+)+$/.test(path)) throw fail(`has the path ${shown(path)}: write one such as ${PATH}`);
  return {
    addresses,
    chroot: decoded(url.pathname, fail).replace(/\/+$/, ""),
    path,
    user: url.username === "" ? undefined : `${decoded(url.username, fail)}:${decoded(url.password, fail)}`,
    label,
  };
}
