import { etcdPatient, type ExaminedCluster } from "../doctor/etcd.ts";
import { type Address, hostAndPort } from "./address.ts";
import { type ConnectedStore, type Places, servers } from "./servers.ts";
import { partsOf } from "./url_parts.ts";

const FORM = { example: "etcd://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379", port: 2379, parameters: ["prefix"] };

/** Opens clusters of etcd, without and with TLS. */
export const etcd = servers({
  protocols: ["etcd:", "etcds:"],
  example: FORM.example,
  read: readEtcdUrl,
  connect,
});

/** The parts of a URL. */
interface EtcdPlace {
  readonly addresses: readonly Address[];
  readonly options: ExaminedCluster;
  readonly label: string;
}

async function connect([{ options }]: Places<EtcdPlace>): Promise<ConnectedStore> {
  const { etcd } = await import("@holdfast/lock/etcd");
  const store = etcd(options);
  return { store, prefix: options.prefix, patient: () => etcdPatient(store, options) };
}

/** Reads a URL such as `etcd://user:password@host:2379,host:2379?prefix=locks/`. */
export function readEtcdUrl(url: URL): EtcdPlace {
  const { label, addresses, username, password = "", path, parameters, fail } = partsOf(url, FORM);
  if (path.length > 0) throw fail("has a path");
  const { prefix = "holdfast/" } = parameters;
  if (prefix === "") throw fail("has an empty prefix");
  if (username === undefined && password !== "") throw fail("has a password without a user");
  const protocol = url.protocol === "etcds:" ? "https" : "http";
  const endpoints = addresses.map((address) => `${protocol}://${hostAndPort(address)}`);
  return { addresses, options: { endpoints, prefix, ...username && { username, password } }, label };
}
