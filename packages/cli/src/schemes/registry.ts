import { UsageError } from "../command.ts";
import type { Scheme, StoreUrls } from "./scheme.ts";
import { shown } from "../terminal/shown.ts";
import { etcd } from "./etcd.ts";
import { mysql } from "./mysql.ts";
import { postgres } from "./postgres.ts";
import { redis } from "./redis.ts";
import { sqlite } from "./sqlite.ts";
import { upstash } from "./upstash.ts";
import { zookeeper } from "./zookeeper.ts";

/** The technologies that the command line opens. */
export const SCHEMES: readonly Scheme[] = [redis, upstash, postgres, mysql, etcd, zookeeper, sqlite];

/**
 * Returns the scheme that opens the stores of these URLs together.
 *
 * @throws {UsageError} if no technology has such URLs, or they are no quorum of one
 */
export function schemeOf([first, ...others]: StoreUrls): Scheme {
  const scheme = schemeFor(first);
  if (others.length === 0) return scheme;
  if (scheme.quorum !== undefined && others.every((url) => schemeFor(url) === scheme)) return scheme;
  const quorums = SCHEMES.flatMap(({ quorum = [] }) => quorum).join(" or ");
  throw new UsageError(`several stores must be ${quorums}, of which the lock is held on a majority (Redlock)`);
}

function schemeFor({ protocol }: URL): Scheme {
  const scheme = SCHEMES.find(({ protocols }) => protocols.includes(protocol));
  if (scheme !== undefined) return scheme;
  const known = SCHEMES.flatMap(({ protocols }) => protocols).join(" ");
  throw new UsageError(`no store has URLs that begin with ${shown(protocol)} (known: ${known})`);
}
