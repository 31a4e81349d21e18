import type { Observer } from "../../contract/events.ts";
import { type Clock, SystemClock } from "../../time/clock.ts";
import { wishedFences } from "../../rules/group.ts";
import { checkEvict } from "../../internal/listing/eviction.ts";
import { HandoffStore } from "../../handoff/handoff_store.ts";
import { checkQuery } from "../../internal/listing/query_options.ts";
import { ownerKey } from "../../rules/occupancy.ts";
import {
  type Attempt,
  type AttemptOptions,
  CAPABILITIES,
  type Claim,
  drift,
  type EvictOptions,
  type Granted,
  handleOf,
  kindOf,
  type ListingStore,
  type QueryOptions,
  type Renewal,
  type Snapshot,
} from "../../contract/store.ts";
import { LockFile } from "./file/file.ts";
import { Heartbeats } from "./watch/heartbeats.ts";
import { list } from "./tables/listing.ts";
import { type LockState, readLockState } from "./tables/lock_state.ts";
import { checkSqliteOptions, type SqliteOptions } from "./options.ts";
import { Poller } from "./watch/poller.ts";
import { RevocationPoll } from "./watch/revocation_poll.ts";
import type { Statements } from "./tables/statements.ts";
import { type Grantee, succession } from "./tables/succession.ts";
import { Sweeper } from "./tables/sweeper.ts";
import { enqueue, grant, noteRun, revoke } from "./tables/transitions.ts";
import { LocalWaiters, type QueuedWaiter } from "./watch/local_waiters.ts";

/** A store that has a file open. `query()` lists the locks of all processes, in the order of the names. */
export interface SqliteStore extends ListingStore, Disposable {
  /** Closes the file. Waiters reject at once; locks that are still held end with their leases. */
  close(): void;
}

/**
 * Returns a store in an SQLite file, which is made if it does not exist. The file must lie on a local disk: SQLite's
 * own locks do not work on network file systems. It may be the database of an application that can use a write-ahead
 * log: the names of all tables for locks begin with `holdfast_`. If the file is no database, or cannot be written to,
 * the first call rejects with a `StoreError` that is `permanent`.
 *
 * **Waiting.** Each store polls for all its waiters, every 1 to 20 ms, and writes a heartbeat four times a second: use
 * one store for the whole process. A waiter behind a process that has died waits up to 3 s longer; a waiter that came
 * after the death, until 6 s after the death. A process that stands still for a shorter time keeps its turn. If it goes
 * on later, within 10 minutes, its waiters have their old places. A process that could not write for a second, or whose
 * clock was set, takes no other process for dead for the next 3 s.
 *
 * **Writing.** SQLite lets one process write at a time. If another process writes for more than 5 s, calls reject with
 * a `StoreError`, and may be repeated. A process that is stopped (SIGSTOP, a debugger) in the middle of a transaction
 * keeps all others from writing until it goes on or ends. A transaction of this store takes about 0.1 ms, and no more
 * than a few milliseconds when many calls share it.
 *
 * **Versions.** All processes must use versions with the same layout of the tables: calls on a file of another layout
 * reject with a `StoreError` that is `permanent`.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { sqlite } from "@holdfast/lock/sqlite";
 *
 * using store = sqlite(":memory:");
 * await using lock = await acquire(store, "nightly-report", { wait: 1_000 });
 * ```
 *
 * @param path the path of the file
 * @param options an observer
 * @throws {TypeError} when the path is no string, empty or a `file:` URI, or an option is unknown or of the wrong kind
 * @throws {StoreError} when this runtime has no `node:sqlite`, or the file cannot be opened
 */
export function sqlite(path: string, options: SqliteOptions = {}): SqliteStore {
  const observer = checkSqliteOptions(path, options);
  const clock = new SystemClock();
  return new HandedOn(new FileStore(path, observer, clock), clock);
}

/** The store for callers: it hands the locks of the file on inside this process. */
class HandedOn extends HandoffStore<FileStore> implements SqliteStore {
  declare readonly evict: SqliteStore["evict"];
  declare readonly query: SqliteStore["query"];

  close(): void {
    this.target.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** When a polling waiter asks again, in milliseconds: after this time to twice as much. */
const RETRY_MS = 500;

/** When a waiter that sleeps in `wakeup()` asks again without a wake-up, in milliseconds. */
const RETRY_ASLEEP_MS = 10_000;

export class FileStore implements SqliteStore {
  readonly drift = drift;
  readonly capabilities = CAPABILITIES;
  readonly revocationHeard = this.revocation;
  readonly observer: Observer | undefined;
  readonly #clock: Clock;
  readonly #file: LockFile;
  readonly #waiters: LocalWaiters;
  readonly #heartbeats: Heartbeats;
  readonly #poller: Poller;
  readonly #revocations: RevocationPoll;
  readonly #sweeper = new Sweeper();

  constructor(path: string, observer: Observer | undefined, clock: Clock) {
    this.observer = observer;
    this.#clock = clock;
    this.#file = new LockFile(path, clock);
    this.#waiters = new LocalWaiters(clock);
    this.#heartbeats = new Heartbeats(this.#file, this.#waiters, clock);
    this.#poller = new Poller(this.#file, this.#waiters, this.#heartbeats, clock);
    this.#revocations = new RevocationPoll(this.#file, clock);
  }

  get closed(): boolean {
    return this.#file.closed;
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const waiter = this.#waiters.get(claim);
    if (waiter === undefined) return await this.#writeAttempt(claim, undefined, options);
    waiter.attempts++;
    waiter.idleHeartbeats = 0;
    waiter.askedAt = this.#clock.now().monotonic;
    try {
      return await (await this.#readAttempt(claim, waiter, options) ?? this.#writeAttempt(claim, waiter, options));
    } finally {
      waiter.attempts--;
    }
  }

  async renew(claim: Claim): Promise<Renewal> {
    const { name, lease, renewal = 0 } = claim;
    const { changes } = await this.#file.write((run, now) =>
      run.renew.run(renewal, now + lease, renewal, lease, renewal, name, handleOf(claim), now)
    );
    return Number(changes) === 1 ? "renewed" : "lost";
  }

  async release(claim: Claim): Promise<boolean> {
    const { name } = claim;
    const handle = handleOf(claim);
    const waiter = this.#waiters.get(claim);
    if (waiter !== undefined) waiter.releasing = true;
    const released = await this.#file.write((run, now) => {
      const expires = run.expiry.get(name, handle)?.["expires"];
      if (expires !== undefined) run.release.run(name, handle);
      const ticket = run.ticket.get(name, handle)?.["ticket"];
      if (ticket !== undefined) run.dequeue.run(ticket);
      this.#sweeper.sweep(run, this.#heartbeats.view(now));
      return ticket !== undefined || Number(expires) > now;
    });
    this.#poller.delete(claim);
    await this.#poller.check(name);
    return released;
  }

  async succeed(from: Claim, to: Claim): Promise<void> {
    const waiter = this.#waiters.get(from);
    const { name, meta = null } = to;
    const { changes } = await this.#file.write((run) =>
      run.succeed.run(handleOf(to), ownerKey(to), meta, name, handleOf(from))
    );
    if (waiter !== undefined && Number(changes) === 1) this.#poller.add(to, waiter);
  }

  /** Drops the place of a handle that a run took out of the queue: it does not come back. */
  forget(claim: Claim): void {
    if (this.#waiters.get(claim)?.state === "taken") this.#poller.delete(claim);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.#poller.wakeup(claim, signal);
  }

  revocation(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.#revocations.wait(claim, signal);
  }

  async evict(name: string, options?: EvictOptions): Promise<number> {
    const target = checkEvict(options);
    const evicted = await this.#file.write((run, now) => revoke(run, name, now, target));
    await this.#poller.check(name);
    return evicted;
  }

  async query(options?: QueryOptions): Promise<Snapshot> {
    const view = (now: number) => this.#heartbeats.view(now);
    return await list(this.#file, view, checkQuery(options));
  }

  close(): void {
    this.#revocations.stop();
    this.#file.close((run) => this.#heartbeats.deleteClient(run));
    // The waiters ask again, and find the file closed.
    this.#poller.close();
  }

  onClosed(run: () => void): () => void {
    return this.#file.onClosed(run);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Attempts without a write, as most attempts of a waiter need none. Resolves to `undefined` if one may be needed. */
  async #readAttempt(claim: Claim, waiter: QueuedWaiter, { steal }: AttemptOptions): Promise<Attempt | undefined> {
    const { woken } = waiter;
    waiter.woken = false;
    if (woken || steal || waiter.state !== "queued") return undefined;
    const state = await this.#file.read((run, now) => {
      return readLockState(run, claim, waiter.ticket, this.#heartbeats.view(now));
    });
    return state.outcome === "busy" && !state.overlong ? refusal(state, waiter) : undefined;
  }

  /** Attempts in a transaction: grants the lock, or puts the claim's handle into the queue. */
  async #writeAttempt(claim: Claim, waiter: QueuedWaiter | undefined, options: AttemptOptions): Promise<Attempt> {
    const { state, granted, place } = await this.#file.write((run, now) => {
      const view = this.#heartbeats.view(now);
      const state = readLockState(run, claim, waiter?.ticket, view);
      this.#sweeper.sweep(run, view);
      // Whatever the outcome: the leases of dead holders must end also if the claim is a conflict, or fits beside them.
      if (state.overlong) run.capLeases.run(now, claim.name, now);
      const stolen = options.steal === true && state.ownFence === undefined;
      if (stolen) revoke(run, claim.name, now);
      if (stolen || state.outcome === "free") {
        return { state, granted: this.#grant(run, { claim, state, view, stolen }) };
      }
      const waits = options.enqueue && state.outcome === "busy";
      return { state, place: waits ? enqueue(run, claim, waiter, view) : undefined };
    });
    if (granted !== undefined) {
      for (const member of granted.members) member.state = "taken";
      this.#poller.delete(claim);
      // Other handles of the owner, or other shared handles, may be granted the lock now.
      if (claim.handle !== undefined || kindOf(claim) !== "exclusive") await this.#poller.check(claim.name);
      return granted.attempt;
    }
    if (place !== undefined) this.#poller.add(claim, place);
    return refusal(state, this.#waiters.get(claim));
  }

  /** Grants the lock, and takes the run that is granted with the claim out of the queue. */
  #grant(run: Statements, grantee: Grantee): { readonly attempt: Granted; readonly members: readonly QueuedWaiter[] } {
    const { claim, state, view } = grantee;
    const { followers, othersWait } = succession(run, this.#waiters, grantee);
    const block = grant(run, claim, state, Math.max(wishedFences(claim), 1 + followers.length), view.now);
    // Those that there is a fence for.
    const members = followers.slice(0, block.fences - 1);
    for (const { ticket } of members) run.dequeue.run(ticket);
    if (members.length > 0) noteRun(run, claim, members);
    const attempt: Granted = {
      granted: true,
      fence: BigInt(block.fence),
      fences: followers.length > 0 ? 1 : block.fences,
      contended: members.length < followers.length || othersWait,
      run: members.map(({ claim }) => handleOf(claim)),
    };
    return { attempt, members };
  }
}

function refusal({ outcome }: LockState, waiter: QueuedWaiter | undefined): Attempt {
  if (typeof outcome === "object") return { granted: false, conflict: outcome };
  const ms = waiter?.usesWakeups ? RETRY_ASLEEP_MS : RETRY_MS;
  // Waiters that came together would block the event loop together.
  return { granted: false, retryAfter: ms * (1 + Math.random()), maySleep: waiter?.usesWakeups };
}
