import type { Observer } from "../../../src/events.ts";
import type { Store } from "../../../src/store.ts";
import { memcachedAccess } from "./memcached/access.ts";
import { mysqlAccess } from "./mysql/access.ts";
import { redisAccess } from "./redis/access.ts";
import { sqliteAccess } from "./sqlite/access.ts";
import type { View } from "./view.ts";
import type { Witness } from "./witness.ts";
import type { MemcachedTarget, MysqlTarget, RedisTarget, Work } from "./work.ts";

/** How long a look at what is kept may take, in milliseconds: what is not seen soon is not looked at. */
export const LOOK_MS = 300;

/** How a worker process reaches what its locks are kept on. */
export interface Access {
  /** The store as it is before anything hands its locks on. */
  readonly store: Store;
  /** One for each independent server, or deployment of servers, reached without what happens to the way to it. */
  readonly views: readonly View[];
  /** Closes all connections. */
  close(): void;
  /** Returns what is open although all was closed, as far as only this process can know. */
  unclosed?(): string[];
}

/** Connects to what a process works on. */
export function connect(work: Work, witness: Witness, observer: Observer): Access {
  const { target, direct } = work;
  if (target.kind === "sqlite") return sqliteAccess(target, observer);
  if (target.kind === "memcached") {
    return memcachedAccess({ ...work, target, direct: direct as MemcachedTarget }, observer);
  }
  if (target.kind === "mysql") return mysqlAccess({ ...work, target, direct: direct as MysqlTarget }, observer);
  return redisAccess({ ...work, target, direct: direct as RedisTarget }, witness, observer);
}
