import type { Observer } from "../../../src/contract/events.ts";
import type { Store } from "../../../src/contract/store.ts";
import { engineAccess } from "./engine_access.ts";
import { connectTo as connectToEtcd } from "./etcd/connection.ts";
import { connectTo as connectToMemcached } from "./memcached/connection.ts";
import { connectTo as connectToMysql } from "./mysql/connection.ts";
import { connectTo as connectToPostgres } from "./postgres/connection.ts";
import { redisAccess } from "./redis/access.ts";
import { sqliteAccess } from "./sqlite/access.ts";
import { connectTo as connectToZookeeper, SHORT_SESSION_MS } from "./zookeeper/connection.ts";
import type { View } from "./view.ts";
import type { Witness } from "./witness.ts";
import type { RedisTarget, Target, Work } from "./work.ts";

/** How long a look at what is kept may take, in milliseconds: what is not seen soon is not looked at. */
export const LOOK_MS = 300;

/** How a worker process reaches what its locks are kept on. */
export interface Access {
  /** The store as it is before anything hands its locks on. */
  readonly store: Store;
  /** Makes another store object over the same clients; the engine can. */
  another?(): Store;
  /** Returns how many wait for a lock, beside what happens to the way; the engine can. */
  queued?(lock: string): Promise<number>;
  /** One for each independent server, or deployment of servers, reached without what happens to the way to it. */
  readonly views: readonly View[];
  /** Closes all connections. */
  close(): void;
  /** Returns what is open although all was closed, as far as only this process can know. */
  unclosed?(): string[];
}

/** Connects to what a process works on. */
export function connect(work: Work, witness: Witness, observer: Observer): Access | Promise<Access> {
  const { target, commandTimeout } = work;
  if (target.kind === "sqlite") return sqliteAccess(target, observer);
  const direct = <T extends Target>(_: T) => work.direct as T;
  const timeout = commandTimeout ?? undefined;
  switch (target.kind) {
    case "memcached":
      return engineAccess(
        connectToMemcached(target.port, timeout),
        connectToMemcached(direct(target).port, LOOK_MS),
        observer,
      );
    case "mysql":
      return engineAccess(connectToMysql(target.port, timeout), connectToMysql(direct(target).port, LOOK_MS), observer);
    case "postgres": {
      const looking = { port: direct(target).listen };
      return engineAccess(connectToPostgres(target, timeout), connectToPostgres(looking, LOOK_MS), observer);
    }
    case "etcd":
      return engineAccess(connectToEtcd(target.ports, timeout), connectToEtcd(direct(target).ports, LOOK_MS), observer);
    case "zookeeper": {
      // The client has no time-out for commands: instead the session expires soon.
      const used = connectToZookeeper(target.ports, timeout === undefined ? {} : { sessionTimeout: SHORT_SESSION_MS });
      return engineAccess(used, connectToZookeeper(direct(target).ports, { timeout: LOOK_MS }), observer);
    }
    default:
      return redisAccess({ ...work, target, direct: work.direct as RedisTarget }, witness, observer);
  }
}
