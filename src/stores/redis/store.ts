import type { Observer } from "../../contract/events.ts";
import { SystemClock } from "../../time/clock.ts";
import { checkEvict, isMeant } from "../../internal/listing/eviction.ts";
import { HandoffStore } from "../../handoff/handoff_store.ts";
import { HandoffPlace } from "../../handoff/place.ts";
import { ShortLivedSet } from "../../time/short_lived.ts";
import {
  type Attempt,
  type AttemptOptions,
  CAPABILITIES,
  type Claim,
  drift,
  type EvictOptions,
  type Granted,
  handleOf,
  type Meta,
  type QueryOptions,
  type Renewal,
  type Snapshot,
  type Store,
} from "../../contract/store.ts";
import type { Inspection, QuorumNode, Vote, VoteOptions } from "../../contract/quorum_node.ts";
import type { RedisClient } from "./clients/client.ts";
import type { RedisPort } from "./clients/port.ts";
import { attempt, type NotGranted } from "./commands/attempt.ts";
import type { Command } from "./commands/command.ts";
import { confirm, inspect, retake, vote } from "./commands/quorum.ts";
import { evict, held, notify, prolong, release, renew, type RenewReply } from "./commands/holder.ts";
import { entries } from "./commands/entries.ts";
import { POLL_MS, WAITER_TIMEOUT_MS } from "./constants.ts";
import { KeySpace } from "./keys/keys.ts";
import { checkRedisOptions, type RedisOptions, type RedisSettings } from "./options.ts";
import { query } from "./listing/search.ts";
import { Replicas } from "./commands/replicas.ts";
import { evictWith, stealWith } from "./revoke.ts";
import { Runner } from "./commands/runner.ts";
import { reservationMs, Wakeups } from "./wakeups/wakeups.ts";
import { Warnings } from "./warnings.ts";

/** A store on a Redis or Valkey server. */
export interface RedisStore extends Store {
  /**
   * Revokes the lock of its holders at the time of the call, or of the named holders, and serves the queue. Resolves to
   * how many lost it.
   */
  evict(name: string, options?: EvictOptions): Promise<number>;
  /**
   * Lists the holders and the waiters of the locks under this prefix, in all processes: with one script for a `name`,
   * else with SCAN on every master. With a `limit`, a lock that has waiters may come in two pages.
   *
   * Rejects with a `StoreError` that is `permanent` if `cursor` is of a master that has left the Cluster: then list the
   * locks from the start.
   */
  query(options?: QueryOptions): Promise<Snapshot>;
}

/**
 * Makes a store on a Redis (6.2 or later) or Valkey server. `acquire(client, …)` makes such a store with default
 * options.
 *
 * The key of a lock is `prefix + name`, and its value a plain string. Any program that uses `SET NX PX` on that key
 * excludes Holdfast, and is excluded by it. Beside it there are the list of the holders, when there are several, the
 * queue, while somebody waits, and the last fence, until 7 days after the server's clock has reached it.
 *
 * @example
 * ```ts ignore
 * import { Redis } from "ioredis";
 * import { acquire } from "@holdfast/lock";
 * import { redis } from "@holdfast/lock/redis";
 *
 * const store = redis(new Redis(), { prefix: "billing:" });
 * await using lock = await acquire(store, "invoice:42");
 * ```
 *
 * @param client a client of ioredis, iovalkey or node-redis; it stays yours to close
 * @param options the prefix of the keys, how many replicas must have a lock, and an observer
 * @throws {TypeError} when the client lacks a method that is needed, or an option is of the wrong kind
 * @throws {RangeError} when a number is out of range
 */
export function redis(client: RedisClient, options: RedisOptions = {}): RedisStore {
  const settings = checkRedisOptions(client, options);
  const store = new ServerStore(Wakeups.of(client), settings);
  const place = new HandoffPlace(client, settings.prefix);
  return new HandoffStore(store, new SystemClock(), undefined, place) as HandoffStore & RedisStore;
}

type ServerGrant = Pick<Granted, "granted" | "run">;

type Refused = Exclude<Attempt, { granted: true }> & Pick<NotGranted, "heldFor">;

/** The store of `redis()`: the scripts keep the locks on the server. */
export class ServerStore implements RedisStore, QuorumNode {
  readonly drift = drift;
  readonly queueTimeout = WAITER_TIMEOUT_MS;
  readonly capabilities = CAPABILITIES;
  readonly observer: Observer | undefined;
  readonly #port: RedisPort;
  readonly #keys: KeySpace;
  readonly #wakeups: Wakeups;
  readonly #runner: Runner;
  readonly #replicas: Replicas | undefined;
  readonly #warnings: Warnings;
  /** The handles that were granted the lock with a run whose members are listed. */
  readonly #runs = new ShortLivedSet<string>();

  constructor(wakeups: Wakeups, { prefix, replicas, observer }: RedisSettings) {
    const { port } = this.#wakeups = wakeups;
    this.#port = port;
    this.#keys = new KeySpace(port, prefix);
    this.#runner = new Runner(port, this.#keys);
    this.#replicas = replicas && new Replicas(port, this.#runner, replicas);
    this.#warnings = new Warnings(port, wakeups.subscription, this.#runner, observer);
    this.observer = observer;
  }

  get closed(): boolean {
    return this.#port.state === "closed";
  }

  get connectionError(): Error | undefined {
    return this.#port.connection.error;
  }

  get session(): number {
    return this.#port.connection.cuts;
  }

  get connecting(): boolean {
    return this.#port.state === "connecting" && this.connectionError === undefined;
  }

  get address(): string | undefined {
    return this.#port.address;
  }

  attempt(claim: Claim, { enqueue, steal = false, alive }: AttemptOptions): Promise<Attempt> {
    this.#warnings.check(claim);
    if (steal) return stealWith((steal, input) => this.#grant(steal, claim, input), claim, this.#port.connection);
    const waiter = enqueue ? this.#wakeups.waiter(handleOf(claim), claim.group) : undefined;
    const answer = this.#grant(attempt, claim, { claim, waiter, alive });
    if (waiter?.group !== undefined) this.#wakeups.wakeIfCut(answer);
    return answer;
  }

  async vote(claim: Claim, { enqueue, guess, end, maxClockSkew }: VoteOptions): Promise<Vote> {
    this.#warnings.check(claim);
    const waiter = enqueue ? this.#wakeups.waiter(handleOf(claim)) : undefined;
    const answer = await this.#grant(vote, claim, { claim, waiter, guess, end, maxClockSkew });
    // A quorum knows no conflict of a single node: it asks again.
    if (!("conflict" in answer)) return answer;
    const { conflict: _, ...refusal } = answer;
    return { ...refusal, retryAfter: POLL_MS };
  }

  confirm(claim: Claim, fence: bigint, end?: bigint): Promise<boolean> {
    return this.#run(confirm, claim, { claim, fence, end });
  }

  inspect(claim: Claim): Promise<Inspection> {
    return this.#run(inspect, claim, claim);
  }

  retake(claim: Claim, fence: bigint, counter = fence): Promise<boolean> {
    return this.#run(retake, claim, { claim, fence, counter });
  }

  async renew(claim: Claim): Promise<Renewal> {
    const replicas = this.#replicas;
    if (replicas === undefined) return this.#renewed(claim, await this.#run(renew, claim, claim));
    // The holder must not trust a deadline that a promoted replica would not keep.
    const outcome = await this.#renewOnReplicas(claim, replicas);
    if (outcome === "short") throw new Error(replicas.shortage);
    return outcome;
  }

  release(claim: Claim): Promise<boolean> {
    const { connection } = this.#port;
    const { cuts } = connection;
    this.#runs.delete(handleOf(claim));
    this.#wakeups.leave(handleOf(claim));
    // Cut off meanwhile, the client may have sent the release twice: then the first one released the lock.
    return this.#runner.run(release, claim.name, claim, (released) => {
      this.#warnings.check(claim);
      return released || cuts !== connection.cuts;
    });
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    // The next in line looks again when the one that is served may have died: most leases of one name are alike.
    return this.#wakeups.waiters.wait(handleOf(claim), reservationMs(claim.lease), signal);
  }

  forget(claim: Claim): void {
    this.#runs.delete(handleOf(claim));
    this.#wakeups.leave(handleOf(claim));
  }

  succeed(from: Claim, to: Claim): Promise<void> {
    this.#wakeups.waiters.succeed(handleOf(from), handleOf(to));
    return Promise.resolve();
  }

  onClosed(run: () => void): () => void {
    return this.#port.connection.listen({ closed: run });
  }

  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    return this.#wakeups.revocation(handleOf(claim), () => this.#run(held, claim, claim), signal);
  }

  revocationHeard(claim: Claim, signal: AbortSignal): Promise<Meta | void> | undefined {
    return this.#wakeups.revocationHeard(handleOf(claim), () => this.#run(held, claim, claim), signal);
  }

  async evict(name: string, options?: EvictOptions): Promise<number> {
    const target = checkEvict(options);
    const { meta, fence } = target;
    // A handle that is granted the lock never gets another fence.
    const held = fence === undefined ? [] : (await this.#entries(name)).held;
    const evicted = await evictWith(
      (digests) => this.#run(evict, { name }, { digests, meta }),
      (handle) => isMeant(target, held.find((holder) => holder.handle === handle) ?? { handle, fence: undefined }),
      this.#port.connection,
    );
    this.#warnings.check();
    return evicted;
  }

  async query(options?: QueryOptions): Promise<Snapshot> {
    return await query(this.#port, this.#keys, (name) => this.#entries(name), options);
  }

  #entries(name: string): Promise<Snapshot> {
    return this.#run(entries, { name }, { name });
  }

  #grant<Input, Reply extends ServerGrant>(
    command: Command<Input, Reply | NotGranted>,
    claim: Claim,
    input: Input,
  ): Promise<Reply | Refused> {
    const replicas = this.#replicas;
    if (replicas === undefined) {
      return this.#runner.run(command, claim.name, input, (answer) => this.#noteAnswer(claim, answer));
    }
    // The handle keeps its ticket until the replicas have the lock, in case the grant is undone.
    return this.#run(command, claim, input).then(async (answer) => {
      if (answer.granted) {
        const undo = () => this.#run(release, claim, claim);
        await replicas.confirm(() => this.#renewOnReplicas(claim, replicas), undo).catch((error) => {
          // The members of its run have left the queue: each comes back to its place when it asks again.
          for (const handle of answer.run ?? []) this.#wakeups.waiters.wake(handle);
          throw error;
        });
      }
      return this.#noteAnswer(claim, answer);
    });
  }

  /** Updates the wake-ups of the handle by an answer. */
  #noteAnswer<T extends ServerGrant>(claim: Claim, answer: T | NotGranted): T | Refused {
    if (answer.granted || "conflict" in answer) {
      if (answer.granted && (answer.run ?? []).length > 0) this.#runs.add(handleOf(claim));
      this.#wakeups.leave(handleOf(claim));
      return answer;
    }
    const { heldFor } = answer;
    const busy = this.#wakeups.busy(handleOf(claim), answer, claim.lease);
    return heldFor === undefined ? busy : { ...busy, heldFor };
  }

  async #renewOnReplicas(claim: Claim, replicas: Replicas): Promise<Renewal | "short"> {
    const reply = await replicas.renew(this.#keys.keysOf(claim.name), claim);
    const renewal = this.#renewed(claim, reply);
    return renewal === "renewed" && !reply.replicated ? "short" : renewal;
  }

  /** Notifies the next waiter if the lease has become shorter, and keeps the members of the run listed. */
  #renewed(claim: Claim, { renewed, earlier }: RenewReply): Renewal {
    // Nobody waits for either: without them a waiter asks later, and a listing lacks the members.
    if (earlier) this.#run(notify, claim, undefined).catch(() => {});
    if (this.#runs.has(handleOf(claim))) {
      if (renewed) this.#run(prolong, claim, claim).catch(() => {});
      else this.#runs.delete(handleOf(claim));
    }
    return renewed ? "renewed" : "lost";
  }

  #run<Input, Reply>(command: Command<Input, Reply>, { name }: Pick<Claim, "name">, input: Input): Promise<Reply> {
    return this.#runner.run(command, name, input, (reply) => reply);
  }
}
