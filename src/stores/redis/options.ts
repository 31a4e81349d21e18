import type { Observer } from "../../contract/events.ts";
import { describeMistake } from "../../internal/mistaken_target.ts";
import { looksLikeClient } from "../../internal/target_shape.ts";
import { checkKeys, checkMilliseconds, checkObserver, show } from "../../internal/validation.ts";
import type { RedisClient } from "./clients/client.ts";

/** The default prefix of the name in the key of a lock. */
export const DEFAULT_PREFIX = "lock:";

/** Options of `redis()`. */
export interface RedisOptions {
  /**
   * The prefix of the name in the lock's key.
   *
   * @default {"lock:"}
   */
  prefix?: string | undefined;
  /**
   * How many replicas must have a grant or a renewal before it counts (`WAIT`). A grant that they do not confirm in
   * time is released, and counts as a fault of the store. An unconfirmed renewal does not extend the holder's deadline.
   *
   * The option covers a master that dies or is cut off before any replica has the grant. It is no consensus: a failover
   * can still promote a replica without the lock, unless `min` is the number of all replicas, and a replica can lose
   * its data when it restarts. Then there are two holders, and only the fence tells them apart.
   *
   * Each grant costs one more round trip, and the time that the replicas need. Other commands of the client wait
   * meanwhile, up to `timeout`: give the store its own client. With fewer than `min` replicas nothing is granted, so
   * run at least one more.
   */
  replicas?: ReplicasOptions | undefined;
  /** Called with the events of the locks of this store. */
  observer?: Observer | undefined;
}

/** How many replicas must have a grant or a renewal before it counts. */
export interface ReplicasOptions {
  /** The number of replicas, at least 1. */
  min: number;
  /**
   * How long they may take, in milliseconds, 1 to 2³¹ − 1. The connection does nothing else meanwhile.
   *
   * @default {500}
   */
  timeout?: number | undefined;
}

/** The options of a store, checked and complete. */
export interface RedisSettings {
  readonly prefix: string;
  readonly replicas: ReplicasSettings | undefined;
  readonly observer: Observer | undefined;
}

export type ReplicasSettings = Readonly<Required<ReplicasOptions>> & { readonly timeout: number };

export function checkRedisOptions(client: RedisClient, options: RedisOptions): RedisSettings {
  if (!looksLikeClient(client)) {
    throw new TypeError(
      `client must be one of ioredis, iovalkey, node-redis, valkey-glide or Bun: got ${describeMistake(client)}`,
    );
  }
  checkVersion(client);
  checkNoMock(client);
  const { prefix = DEFAULT_PREFIX, replicas, observer } = checkKeys(options, ["prefix", "replicas", "observer"]);
  if (typeof prefix !== "string") throw new TypeError(`prefix must be a string: got ${show(prefix)}`);
  checkObserver(observer);
  return { prefix, observer, replicas: replicas && checkReplicasOptions(client, replicas) };
}

/** Throws for a client of an older node-redis: its methods have the right names, but other effects. */
function checkVersion(client: RedisClient): void {
  const version = "internal_send_command" in client ? 3 : "evalSha" in client && !("destroy" in client) ? 4 : undefined;
  if (version === undefined) return;
  throw new TypeError(`client must be one of node-redis 5 or 6: got one of version ${version}`);
}

/** Throws for a client of ioredis-mock, which has methods of two libraries and answers scripts with functions. */
function checkNoMock(client: RedisClient): void {
  if (!("customCommand" in client && "evalsha" in client)) return;
  const instead = "In tests pass memory() of @holdfast/lock/memory, or a client of a Redis server";
  throw new TypeError(`client must be one that a server answers: got one of ioredis-mock. ${instead}`);
}

function checkReplicasOptions(client: RedisClient, options: ReplicasOptions): ReplicasSettings {
  const { min, timeout = 500 } = checkKeys(options, ["min", "timeout"]);
  if (typeof min !== "number") throw new TypeError(`replicas.min must be a number: got ${show(min)}`);
  if (!(Number.isInteger(min) && min >= 1)) throw new RangeError(`replicas.min must be 1, 2, 3, …: got ${min}`);
  checkMilliseconds("replicas.timeout", timeout, 1);
  const method = "evalSha" in client ? "multi" : "pipeline";
  if (typeof Reflect.get(client, method) !== "function") {
    throw new TypeError(`replicas needs a client with the method ${method}`);
  }
  return { min, timeout: Math.ceil(timeout) };
}
