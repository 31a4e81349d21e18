import { UsageError } from "../command.ts";
import { etcdPatient, type ExaminedCluster } from "../doctor/etcd.ts";
import type { Examination } from "../doctor/examination.ts";
import { shown } from "../terminal/shown.ts";
import { type Address, addressOf, checkNetwork, hostAndPort, networkPermission } from "./address.ts";
import type { OpenedStore, Scheme, StoreUrls } from "./scheme.ts";
import { hostsOf, labelOf } from "./store_urls.ts";
import { checkParameters, decoded } from "./url_parts.ts";

const EXAMPLE = "etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379";
const DEFAULT_PORT = 2379;

/** Opens clusters of etcd, without and with TLS. */
export const etcd: Scheme = {
  protocols: ["etcd:", "etcds:"],
  example: EXAMPLE,
  open,
  examination,
};

/** The parts of a URL. */
interface EtcdPlace {
  readonly addresses: readonly Address[];
  readonly options: ExaminedCluster;
  readonly label: string;
}

async function open([url]: StoreUrls): Promise<OpenedStore> {
  const { addresses, options, label } = readEtcdUrl(url);
  await checkNetwork(addresses);
  const { etcd } = await import("@holdfast/lock/etcd");
  return { store: etcd(options), label, prefix: options.prefix, [Symbol.asyncDispose]: () => Promise.resolve() };
}

function examination([url]: StoreUrls): Examination {
  const { addresses, options } = readEtcdUrl(url);
  return {
    permissions: addresses.map(networkPermission),
    async open() {
      const { etcd } = await import("@holdfast/lock/etcd");
      return etcdPatient(etcd(options), options);
    },
  };
}

/**
 * Reads a URL such as `etcd://user:password@host:2379,host:2379?prefix=locks/`.
 *
 * @throws {UsageError} which says what is wrong, without the password
 */
export function readEtcdUrl(url: URL): EtcdPlace {
  const label = labelOf(url);
  const fail = (what: string) => new UsageError(`${shown(label)} ${what}: write ${EXAMPLE}`);
  const hosts = hostsOf(url);
  if (hosts.length === 0) throw fail("has no host");
  if (!/^\/?$/.test(url.pathname)) throw fail("has a path");
  checkParameters(url, ["prefix"], fail);
  const prefix = url.searchParams.get("prefix") ?? "holdfast/";
  if (prefix === "") throw fail("has an empty prefix");
  const addresses = hosts.map((host) => addressOf(host, DEFAULT_PORT, fail));
  const protocol = url.protocol === "etcds:" ? "https" : "http";
  const endpoints = addresses.map((address) => `${protocol}://${hostAndPort(address)}`);
  const username = decoded(url.username, fail);
  const password = decoded(url.password, fail);
  if (username === "" && password !== "") throw fail("has a password without a user");
  return { addresses, options: { endpoints, prefix, ...username === "" ? {} : { username, password } }, label };
}
