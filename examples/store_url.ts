/**
 * What the URL of a store says without the store: its protocol, its servers, and the permissions that Deno needs for
 * it. This file loads no client of a server.
 *
 * @module
 */
import { dirname } from "node:path";

/** What a URL of a store begins with. */
export type Protocol = keyof typeof DEFAULT_PORTS;

/** The port of a server where the URL has none. SQLite has no server. */
export const DEFAULT_PORTS = {
  "sqlite:": undefined,
  "redis:": 6379,
  "rediss:": 6379,
  "postgres:": 5432,
  "mysql:": 3306,
  "etcd:": 2379,
  "zookeeper:": 2181,
} as const;

/** Returns the protocol of a URL; throws a `TypeError` if it is no URL of a store. */
export function protocolOf(where: string): Protocol {
  const [protocol = ""] = /^[a-z]+:/.exec(where) ?? [];
  if (Object.hasOwn(DEFAULT_PORTS, protocol)) return protocol as Protocol;
  throw new TypeError(`a store is a URL such as redis://127.0.0.1:6379 or sqlite:locks.db: got '${where}'`);
}

/** Returns the flags with which Deno permits the use of a store; throws a `TypeError` if it is no URL of one. */
export function permissionsOf(where: string): string[] {
  const port = DEFAULT_PORTS[protocolOf(where)];
  if (port === undefined) return ["read", "write"].map((access) => `--allow-${access}=${dirname(pathOf(where))}`);
  const hosts = urlsOf(where).map((url) => `${url.hostname}:${url.port || port}`);
  return [`--allow-net=${hosts.join(",")}`, "--allow-env"]; // clients read variables of their own choice
}

/** Returns the URLs of several servers: those behind the first one need not repeat the protocol. */
export function urlsOf(where: string): URL[] {
  const [protocol = ""] = /^[a-z]+:\/\//.exec(where) ?? [];
  return where.split(",").map((part) => new URL(part.includes("://") ? part : protocol + part));
}

/** Returns the path of an SQLite file. */
export function pathOf(where: string): string {
  return decodeURIComponent(new URL(where).pathname);
}
