import { assert, assertEquals } from "@std/assert";
import type { AcquireOptions, Lock, Store } from "@holdfast/lock";
import type { CohortOptions } from "@holdfast/lock/cohort";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { checkCohortOptions } from "../../src/cohort/options.ts";
import { HandoffCohort } from "../../src/cohort/cohort.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import type {
  Attempt,
  AttemptOptions,
  Claim,
  EvictOptions,
  Meta,
  QueryOptions,
  Renewal,
  Snapshot,
} from "../../src/contract/store.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { Waiting } from "../handoff/scene.ts";
import { ask, claimOf, grant } from "../support/claims.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";

/** A call that a {@linkcode Line} has carried. */
export interface Call {
  readonly operation: "attempt" | "renew" | "release";
  readonly claim: Claim;
}

/** What becomes of a call: it is carried out when `go` is called. */
type Fault = <T>(go: () => Promise<T>, claim: Claim) => Promise<T>;

/** The request is lost. */
export const lost: Fault = () => Promise.reject(new Error("cut off"));

/** The request is carried out, and its reply is lost. */
export const unheard: Fault = async (go) => {
  await go();
  throw new Error("cut off");
};

/** The request is carried out, and never answered. */
export const never: Fault = async (go) => {
  await go();
  return await new Promise<never>(() => {});
};

/** A connection to a store: it notes the calls, and can fail. */
export class Line implements Store {
  readonly calls: Call[] = [];
  /** What becomes of the next calls; once, in this order. */
  readonly faults: Record<Call["operation"], Fault[]> = { attempt: [], renew: [], release: [] };
  /** What becomes of all calls. */
  down: Fault | undefined;
  /** Whether the store reserves several fences. */
  fences = true;
  readonly #store: MemoryStore;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  get capabilities() {
    return this.#store.capabilities;
  }

  readonly drift = (lease: number): number => this.#store.drift(lease);

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const asked = this.fences ? claim : { ...claim, fences: undefined };
    return this.#carry("attempt", claim, () => this.#store.attempt(asked, options));
  }

  renew(claim: Claim): Promise<Renewal> {
    return this.#carry("renew", claim, () => this.#store.renew(claim));
  }

  release(claim: Claim): Promise<boolean> {
    return this.#carry("release", claim, () => this.#store.release(claim));
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.#store.wakeup(claim, signal);
  }

  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    return this.#store.revocation(claim, signal);
  }

  evict(name: string, options?: EvictOptions): Promise<number> {
    return this.#store.evict(name, options);
  }

  query(options?: QueryOptions): Promise<Snapshot> {
    return this.#store.query(options);
  }

  /** Returns how many calls were made. */
  count(operation: Call["operation"]): number {
    return this.calls.filter((call) => call.operation === operation).length;
  }

  #carry<T>(operation: Call["operation"], claim: Claim, go: () => Promise<T>): Promise<T> {
    this.calls.push({ operation, claim });
    const fault = this.down ?? this.faults[operation].shift();
    return fault === undefined ? go() : fault(go, claim);
  }
}

/** A cohort on a store in memory, on a clock that stands still until it is moved. */
export class Place {
  readonly clock = new VirtualClock();
  readonly memory = new MemoryStore(undefined, this.clock);
  readonly line = new Line(this.memory);
  readonly cohort: HandoffCohort;

  constructor(options: CohortOptions = {}) {
    this.cohort = this.another(options, this.line);
  }

  /** Makes another process. */
  another(options: CohortOptions = {}, line: Line = new Line(this.memory)): HandoffCohort {
    return new HandoffCohort(line, this.clock, checkCohortOptions(options));
  }

  /** Acquires the lock, in the cohort or as a rival. */
  async acquire(options: AcquireOptions = {}, store: Store = this.cohort): Promise<Lock> {
    const lock = await acquireFrom(store, "a", checkAcquireOptions(options), this.clock);
    assert(lock !== null);
    return lock;
  }

  /** Begins to acquire the lock, and resolves when there is nothing left to do without time. */
  async begin(options: AcquireOptions = {}, store: Store = this.cohort): Promise<Waiting> {
    const waiting = new Waiting(this.acquire(options, store));
    await settled();
    return waiting;
  }

  /**
   * Makes handles of the cohort wait behind a rival that releases the lock then. The first one holds it when this
   * resolves. A handle that had been alone would hold it without the cohort.
   */
  async row(...all: AcquireOptions[]): Promise<[first: Lock, ...waiters: Waiting[]]> {
    const rival = await this.acquire({}, this.memory);
    const row: Waiting[] = [];
    for (const options of all) row.push(await this.begin(options));
    await rival.release();
    const [first, ...waiters] = row;
    const lock = await first!.promise;
    this.line.calls.length = 0;
    return [lock, ...waiters];
  }

  /** Makes a handle of the cohort hold the lock, and a rival wait: the store has said so. */
  async contended(): Promise<{ first: Waiting; rival: Waiting }> {
    const holder = await this.acquire({}, this.memory);
    const first = await this.begin();
    const rival = await this.begin({}, this.memory);
    await holder.release();
    await settled();
    assert(first.lock?.held && rival.lock === undefined);
    return { first, rival };
  }

  /**
   * Makes handles wait as {@linkcode row} does, by claims. Returns the fence of the first one, which is granted the
   * lock.
   */
  async rowOf(first: Claim, ...waiters: Claim[]): Promise<bigint> {
    const rival = claimOf("a");
    await grant(this.memory, rival);
    for (const claim of [first, ...waiters]) await ask(this.cohort, claim);
    await this.memory.release(rival);
    const attempt = await this.cohort.attempt(first, { enqueue: true });
    assert(attempt.granted);
    this.line.calls.length = 0;
    return attempt.fence;
  }

  /** Checks that nothing is left: no lock, no waiter, no timer. */
  async assertEmpty(): Promise<void> {
    await settled();
    assertEquals(await this.memory.query(), { held: [], pending: [] });
    assertEquals(this.cohort.names, []);
    assertEquals(this.clock.pending, 0);
  }
}
