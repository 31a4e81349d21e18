/**
 * A distributed lock that you hold with `await using`: it is renewed while it is held, tells its holder when it has
 * been lost (`lock.signal`), carries a number that keeps a stale holder from doing harm (`lock.fence`), and serves its
 * waiters first come, first served.
 *
 * On Redis or Valkey pass a client of ioredis or node-redis; with no server at all use `sqlite("locks.db")` of
 * `@holdfast/lock/sqlite`.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory(); // or: new Redis(), sqlite("locks.db")
 * {
 *   await using lock = await acquire(store, "invoice:42", { wait: 5_000 });
 *   console.log("charging with fence", lock.fence);
 * } // released here, also when the body throws
 * ```
 *
 * @example See who holds a lock, and what happens to it
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { memory } from "@holdfast/lock/memory";
 *
 * const store = memory({ observer: (event) => console.log(event.type, event.name) });
 * await using lock = await acquire(store, "invoice:42", { meta: { job: "charge" } });
 * const { held } = await store.query!({ name: "invoice:42" });
 * console.log(held[0]?.fence === lock.fence, held[0]?.meta?.["job"]); // true charge
 * ```
 *
 * @module
 */
export { acquire, tryAcquire } from "./src/lock/acquire.ts";
export { acquireAll, type MultiLock } from "./src/lock/acquire_all.ts";
export {
  isLockLost,
  LockConflictError,
  LockError,
  type LockErrorCode,
  LockLostError,
  LockTimeoutError,
  type NodeFailure,
  QuorumError,
  StoreError,
  type StoreErrorOptions,
} from "./src/contract/errors.ts";
export type { Lock } from "./src/lock/lock.ts";
export type { EventSubject, GaveUpReason, LockEvent, LossReason, Observer } from "./src/contract/events.ts";
export type { AcquireOptions, TryAcquireOptions } from "./src/lock/options.ts";
export type { LockTarget } from "./src/lock/target.ts";
export type {
  Attempt,
  AttemptOptions,
  Capability,
  Claim,
  Conflict,
  Entry,
  EvictOptions,
  Granted,
  HolderEntry,
  Kind,
  ListingStore,
  Meta,
  Mode,
  QueryOptions,
  Renewal,
  Snapshot,
  Store,
  WaiterEntry,
} from "./src/contract/store.ts";
export type { Inspection, QuorumNode, Vote, VoteOptions } from "./src/contract/quorum_node.ts";
export { withLock } from "./src/lock/with_lock.ts";
export type { RedisClient } from "./src/stores/redis/clients/client.ts";
