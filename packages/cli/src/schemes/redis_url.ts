import { UsageError } from "../command.ts";
import { shown } from "../terminal/shown.ts";
import { type Address, addressOf, type Fail } from "./address.ts";
import { hostsOf, labelOf } from "./store_urls.ts";
import { checkParameters, decoded } from "./url_parts.ts";

/** The kind of servers behind a URL. */
export type Deployment = "single" | "sentinel" | "cluster";

/** The servers, and the login. */
export interface RedisPlace {
  readonly deployment: Deployment;
  readonly tls: boolean;
  /** The servers; with Sentinel the Sentinels, with a Cluster some of its nodes. */
  readonly addresses: readonly Address[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  /** The name of the master among the Sentinels. */
  readonly master: string | undefined;
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
  /** The prefix of the names of locks; by default the store's. */
  readonly prefix: string | undefined;
  /** The number of replicas that must have a grant. */
  readonly replicas: number | undefined;
  readonly label: string;
}

const DEPLOYMENTS: Readonly<Record<string, Deployment>> = {
  "redis:": "single",
  "rediss:": "single",
  "redis+sentinel:": "sentinel",
  "rediss+sentinel:": "sentinel",
  "redis+cluster:": "cluster",
  "rediss+cluster:": "cluster",
};

/** The protocols of the URLs. */
export const PROTOCOLS: readonly string[] = Object.keys(DEPLOYMENTS);

const PORTS = { single: 6379, sentinel: 26379, cluster: 6379 } as const;

/** The parameters of each deployment. */
const PARAMETERS: Readonly<Record<Deployment, readonly string[]>> = {
  single: ["prefix", "replicas"],
  sentinel: ["prefix", "replicas", "sentinelUsername", "sentinelPassword"],
  cluster: ["prefix"],
};

/**
 * Reads a URL such as `redis://user:password@host:6379/2?prefix=billing:`.
 *
 * @throws {UsageError} which says what is wrong, without the password
 */
export function readRedisUrl(url: URL): RedisPlace {
  const deployment = DEPLOYMENTS[url.protocol];
  if (deployment === undefined) throw new TypeError(`no URL of Redis: ${url.protocol}`);
  const label = labelOf(url);
  const fail = (what: string) => new UsageError(`${shown(label)} ${what}`);
  if (deployment === "single" && hostsOf(url).length > 1) {
    throw fail("has several hosts: give each its own --store (Redlock), or use redis+sentinel: or redis+cluster:");
  }
  checkParameters(url, PARAMETERS[deployment], fail);
  const path = url.pathname.split("/").filter((part) => part !== "").map((part) => decoded(part, fail));
  const hosts = hostsOf(url);
  return {
    deployment,
    tls: url.protocol.startsWith("rediss"),
    addresses: (hosts.length === 0 ? ["127.0.0.1"] : hosts).map((host) => addressOf(host, PORTS[deployment], fail)),
    username: decoded(url.username, fail) || undefined,
    password: decoded(url.password, fail) || undefined,
    ...readPath(deployment, path, fail),
    sentinelUsername: url.searchParams.get("sentinelUsername") ?? undefined,
    sentinelPassword: url.searchParams.get("sentinelPassword") ?? undefined,
    prefix: url.searchParams.get("prefix") ?? undefined,
    replicas: replicasOf(url.searchParams.get("replicas"), fail),
    label,
  };
}

/** Reads the database, and with Sentinel the name of the master before it. */
function readPath(deployment: Deployment, path: readonly string[], fail: Fail): Pick<RedisPlace, "db" | "master"> {
  const [master, ...others] = deployment === "sentinel" ? path : [undefined, ...path];
  if (deployment === "sentinel" && master === undefined) {
    throw fail("lacks the name of the master: redis+sentinel://host:26379,host:26379/mymaster");
  }
  const [db = "0", ...more] = others;
  if (!/^\d{1,9}$/.test(db) || more.length > 0) throw fail(`has the path /${path.join("/")}: a database is a number`);
  if (deployment === "cluster" && db !== "0") throw fail("has a database: a Cluster has only one");
  return { db: Number(db), master };
}

function replicasOf(text: string | null, fail: Fail): number | undefined {
  if (text === null) return undefined;
  if (!/^[1-9]\d{0,3}$/.test(text)) {
    throw fail(`has replicas=${shown(text)}: it is how many must have a grant, at least 1`);
  }
  return Number(text);
}
