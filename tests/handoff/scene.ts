import { assert, assertEquals } from "@std/assert";
import type { AcquireOptions, Lock, Store } from "@holdfast/lock";
import type { CohortOptions } from "@holdfast/lock/cohort";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import { checkCohortOptions } from "../../src/cohort/options.ts";
import { HandoffCohort } from "../../src/cohort/cohort.ts";
import { StoreError } from "../../src/contract/errors.ts";
import type { Clock } from "../../src/time/clock.ts";
import { HandoffStore } from "../../src/handoff/handoff_store.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import type {
  Attempt,
  AttemptOptions,
  Claim,
  Meta,
  QueryOptions,
  Renewal,
  Snapshot,
} from "../../src/contract/store.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";
import { settled, VirtualClock } from "../support/virtual_clock.ts";

/** What `redis()`, `sqlite()` and `memory()` do by themselves, and what callers of `cohort()` ask for. */
export const KINDS: readonly (readonly [when: string, options: CohortOptions | undefined])[] = [
  ["by default", undefined],
  ["with keep", { keep: 50 }],
  ["with linger", { keep: 50, linger: 50 }],
];

/** Returns what hands the locks of a store on inside a process; without options as stores do by themselves. */
export function handoffOf(store: Store, clock: Clock, options?: CohortOptions): Store & Partial<AsyncDisposable> {
  return options === undefined
    ? new HandoffStore(store, clock)
    : new HandoffCohort(store, clock, checkCohortOptions(options));
}

/** Returns what `memory()` would return for this store, which stands for the server. */
export function asCallersSee(store: Store, clock: Clock): Store {
  return new HandoffStore(store, clock);
}

/** A call that a {@linkcode Line} carries. */
export interface Call {
  readonly operation: "attempt" | "renew" | "release" | "evict";
  readonly name: string;
  readonly claim?: Claim;
}

/** What becomes of a call: it is carried out when `go` is called. */
export type Fate = (go: () => Promise<unknown>, call: Call) => Promise<unknown>;

/** The request is lost. */
export const lost: Fate = () => Promise.reject(new Error("cut off"));

/** The request is carried out, and its reply is lost. */
export const unheard: Fate = async (go) => {
  await go();
  throw new Error("cut off");
};

/** Tells waiters that the store wakes them: they need not attempt meanwhile. */
export const sleeps: Fate = async (go, { operation }) => {
  const reply = await go() as Attempt;
  return operation === "attempt" && "retryAfter" in reply ? { ...reply, retryAfter: 25_000, maySleep: true } : reply;
};

/** A connection on which each way takes so many milliseconds. */
export function slow(clock: Clock, ms: number): Fate {
  return async (go) => {
    await clock.sleep(ms);
    const reply = await go();
    await clock.sleep(ms);
    return reply;
  };
}

/** The connection of a process to a store in memory. */
export class Line implements Store {
  readonly calls: Call[] = [];
  /** What becomes of each call. */
  fate: Fate = (go) => go();
  /** What becomes of a notice that a lock was revoked, or that it is a waiter's turn. */
  notice: <T>(notice: Promise<T>) => Promise<T> = (notice) => notice;
  readonly #store: Store;
  readonly #closed = new AbortController();

  constructor(store: Store) {
    this.#store = store;
  }

  get capabilities() {
    return this.#store.capabilities;
  }

  get closed(): boolean {
    return this.#closed.signal.aborted;
  }

  readonly drift = (lease: number): number => this.#store.drift(lease);

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    return this.#carry("attempt", claim, () => this.#store.attempt(claim, options));
  }

  renew(claim: Claim): Promise<Renewal> {
    return this.#carry("renew", claim, () => this.#store.renew(claim));
  }

  release(claim: Claim): Promise<boolean> {
    return this.#carry("release", claim, () => this.#store.release(claim));
  }

  evict(name: string): Promise<number> {
    return this.#carry("evict", { name }, () => this.#store.evict!(name));
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.notice(this.#store.wakeup!(claim, AbortSignal.any([signal, this.#closed.signal])));
  }

  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    return this.notice(this.#store.revocation!(claim, signal));
  }

  succeed(from: Claim, to: Claim): Promise<void> {
    return this.#store.succeed?.(from, to) ?? Promise.resolve();
  }

  forget(claim: Claim): void {
    this.#store.forget?.(claim);
  }

  query(options?: QueryOptions): Promise<Snapshot> {
    return this.#store.query!(options);
  }

  onClosed(run: () => void): () => void {
    const { signal } = this.#closed;
    signal.addEventListener("abort", run);
    return () => signal.removeEventListener("abort", run);
  }

  /** Closes it for good: its waiters are woken, and every call is refused. */
  close(): void {
    this.#closed.abort("closed");
  }

  async #carry<T>(operation: Call["operation"], claim: Claim | { name: string }, go: () => Promise<T>): Promise<T> {
    const call: Call = { operation, name: claim.name, ..."owner" in claim ? { claim } : {} };
    this.calls.push(call);
    if (this.closed) throw new StoreError("closed", { permanent: true });
    return await this.fate(go, call) as T;
  }
}

/** An acquire that goes on. */
export class Waiting {
  /** The lock, once it is held. */
  lock: Lock | undefined;
  /** The error, once it has failed. */
  error: unknown;

  constructor(readonly promise: Promise<Lock>) {
    promise.then((lock) => this.lock = lock, (error: unknown) => this.error = error);
  }
}

/** A process whose handles want locks of the scene. */
export class Process {
  readonly line: Line;
  readonly store: Store & Partial<AsyncDisposable>;
  readonly #scene: Scene;

  constructor(scene: Scene, server: Store, hands: (line: Line) => Store) {
    this.#scene = scene;
    this.line = new Line(server);
    this.store = hands(this.line);
  }

  /** Acquires the lock, or resolves to `null` when it is busy. */
  tryAcquire(options: Omit<AcquireOptions, "wait"> = {}, name = "a"): Promise<Lock | null> {
    return acquireFrom(this.store, name, checkAcquireOptions({ ...options, wait: 0 }), this.#scene.clock);
  }

  /** Acquires the lock, after a wait of an hour at most. */
  async acquire(options: AcquireOptions = {}, name = "a"): Promise<Lock> {
    const settings = checkAcquireOptions({ wait: 3_600_000, ...options });
    const lock = await acquireFrom(this.store, name, settings, this.#scene.clock);
    assert(lock !== null);
    return lock;
  }

  /** Begins to acquire the lock, and resolves when there is nothing left to do without time. */
  async wait(label: string, options: AcquireOptions = {}, name = "a"): Promise<Waiting> {
    const waiting = new Waiting(this.acquire(options, name));
    waiting.promise.then(() => this.#scene.served.push(label), () => {});
    await settled();
    return waiting;
  }

  /** Begins a section of so many milliseconds, as {@linkcode wait} does. Resolves to its end. */
  async section(label: string, ms: number, options: AcquireOptions = {}, name = "a"): Promise<{ end: Promise<void> }> {
    const { promise } = await this.wait(label, options, name);
    const end = promise.then(async (lock) => {
      if (ms > 0) await this.#scene.clock.sleep(ms);
      await lock.release();
    });
    // It may fail before anybody awaits it.
    end.catch(() => {});
    return { end };
  }
}

/** A server in memory and the processes that use it, on a clock that stands still until it is moved. */
export class Scene {
  readonly clock = new VirtualClock();
  readonly server = new MemoryStore(undefined, this.clock);
  /** The labels of the handles that were granted the lock, in order. */
  readonly served: string[] = [];
  readonly #processes: Process[] = [];
  /** Another process, which hands nothing on. */
  readonly rival = this.plainProcess();

  /** Adds a process that hands locks on. */
  process(options?: CohortOptions, server: Store = this.server): Process {
    return this.#add(server, (line) => handoffOf(line, this.clock, options));
  }

  /** Adds a process that hands nothing on. */
  plainProcess(server: Store = this.server): Process {
    return this.#add(server, (line) => line);
  }

  /** Checks that nothing is left: no holder, no waiter, no timer. */
  async assertEmpty(): Promise<void> {
    await settled();
    for (const store of [this.server, ...this.#processes.map(({ store }) => store)]) {
      assertEquals(await store.query!(), { held: [], pending: [] });
    }
    assertEquals(this.clock.pending, 0, "timers");
  }

  #add(server: Store, hands: (line: Line) => Store): Process {
    const process = new Process(this, server, hands);
    this.#processes.push(process);
    return process;
  }
}

/** Lets so many microtasks pass. */
export async function microtasks(count: number): Promise<void> {
  for (let passed = 0; passed < count; passed++) await undefined;
}
