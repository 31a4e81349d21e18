import { shown } from "../terminal/shown.ts";
import type { Address } from "./address.ts";
import { partsOf, type UrlForm, type UrlParts } from "./url_parts.ts";

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
  /** The prefix of the names of locks. */
  readonly prefix: string;
  /** The number of replicas that must have a grant. */
  readonly replicas: number | undefined;
  readonly label: string;
  /** Whether the servers name further servers. */
  readonly further: boolean;
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

const HOST = "127.0.0.1";

/** The form of the URLs of each deployment. */
export const FORMS: Readonly<Record<Deployment, UrlForm>> = {
  single: {
    example: "redis://127.0.0.1:6379",
    host: HOST,
    port: 6379,
    one: "give each its own --store (Redlock), or use redis+sentinel: or redis+cluster:",
    parameters: ["prefix", "replicas"],
  },
  sentinel: {
    example: "redis+sentinel://10.0.0.1:26379,10.0.0.2:26379/mymaster",
    host: HOST,
    port: 26379,
    parameters: ["prefix", "replicas", "sentinelUsername", "sentinelPassword"],
  },
  cluster: { example: "redis+cluster://10.0.0.1:6379,10.0.0.2:6379", host: HOST, port: 6379, parameters: ["prefix"] },
};

/** Reads a URL such as `redis://user:password@host:6379/2?prefix=billing:`. */
export function readRedisUrl(url: URL): RedisPlace {
  const deployment = DEPLOYMENTS[url.protocol];
  if (deployment === undefined) throw new TypeError(`no URL of Redis: ${url.protocol}`);
  const parts = partsOf(url, FORMS[deployment]);
  const { label, addresses, username, password, fail } = parts;
  const { sentinelUsername, sentinelPassword, prefix = "lock:", replicas } = parts.parameters;
  if (replicas !== undefined && !/^[1-9]\d{0,3}$/.test(replicas)) {
    throw fail(`has replicas=${shown(replicas)}: it is how many must have a grant, at least 1`);
  }
  return {
    deployment,
    tls: url.protocol.startsWith("rediss"),
    addresses,
    username,
    password,
    ...readPath(deployment, parts),
    sentinelUsername,
    sentinelPassword,
    prefix,
    replicas: replicas === undefined ? undefined : Number(replicas),
    label,
    further: deployment !== "single",
  };
}

/** Reads the database, and with Sentinel the name of the master before it. */
function readPath(deployment: Deployment, { path, fail }: UrlParts): Pick<RedisPlace, "db" | "master"> {
  const [master, ...others] = deployment === "sentinel" ? path : [undefined, ...path];
  if (deployment === "sentinel" && master === undefined) throw fail("lacks the name of the master");
  const [db = "0", ...more] = others;
  if (!/^\d{1,9}$/.test(db) || more.length > 0) throw fail(`has the path /${path.join("/")}: a database is a number`);
  if (deployment === "cluster" && db !== "0") throw fail("has a database: a Cluster has only one");
  return { db: Number(db), master };
}
