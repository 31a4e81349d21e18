import type { Clock } from "../../../time/clock.ts";
import { type Claim, handleOf } from "../../../contract/store.ts";
import { FORGET_MS } from "../tables/statements.ts";
import type { QueuePlace } from "../tables/transitions.ts";

/** A waiting handle of this process. It keeps its place even if the file has lost it. */
export interface QueuedWaiter extends QueuePlace {
  readonly claim: Claim;
  /**
   * Whether it is in the queue in the file, a run has taken it out of there (it may come back, however late), or its
   * caller has not asked for some time.
   */
  state: "queued" | "taken" | "idle";
  /** How many of its attempts are running. */
  attempts: number;
  releasing: boolean;
  /** Wakes it, while it sleeps in `wakeup()`. */
  wake: (() => void) | undefined;
  /** Whether it has slept in `wakeup()`, so that it need not ask often. */
  usesWakeups: boolean;
  /** Whether it was woken and has not asked since: its next attempt writes at once. */
  woken: boolean;
  /** How many heartbeats were due since it last slept or asked. */
  idleHeartbeats: number;
  /** When it last asked, in milliseconds of the monotonic clock. */
  askedAt: number;
}

/** The handles of this process that wait for one name. */
export class Queue {
  readonly name: string;
  /** The waiters by the ids of their handles, in the order of their tickets. */
  readonly waiters: Map<string, QueuedWaiter> = new Map();
  /** The waiters whose owners may hold the lock by another handle. */
  readonly owned: Set<QueuedWaiter> = new Set();
  /** The version of the file's data at the last check; `undefined`: a check is due. */
  dataVersion: number | undefined;
  /** When the next check is due even if the data does not change, in milliseconds of the monotonic clock. */
  checkAt: number;
  /** The result of the last check: it differs when the holders or the waiters ahead have changed. */
  summary = "";
  /** When the result last changed, in milliseconds of the monotonic clock. */
  changedAt: number;
  /** How many waiters are ahead of the first waiter of this process, up to a limit. */
  rank = 0;

  constructor(name: string, now: number) {
    this.name = name;
    this.checkAt = this.changedAt = now;
  }
}

/** The handles of this process that wait, by name. */
export class LocalWaiters {
  readonly #clock: Clock;
  readonly #queues = new Map<string, Queue>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The queues with waiters. The queue that was checked last comes last. */
  get queues(): Iterable<Queue> {
    return this.#queues.values();
  }

  get all(): QueuedWaiter[] {
    return [...this.#queues.values()].flatMap(({ waiters }) => [...waiters.values()]);
  }

  /** Whether any waiter is in the queue in the file. */
  get anyQueued(): boolean {
    for (const { waiters } of this.#queues.values()) {
      for (const { state } of waiters.values()) if (state === "queued") return true;
    }
    return false;
  }

  queue(name: string): Queue | undefined {
    return this.#queues.get(name);
  }

  moveLast(queue: Queue): void {
    this.#queues.delete(queue.name);
    this.#queues.set(queue.name, queue);
  }

  get(claim: Claim): QueuedWaiter | undefined {
    return this.#queues.get(claim.name)?.waiters.get(handleOf(claim));
  }

  /** Records that a handle is in the queue in the file. */
  add(claim: Claim, { ticket, since }: QueuePlace): void {
    const now = this.#clock.now().monotonic;
    const known = this.get(claim);
    if (known !== undefined) {
      known.state = "queued";
      return;
    }
    const waiter: QueuedWaiter = {
      claim,
      ticket,
      since,
      state: "queued",
      attempts: 0,
      releasing: false,
      wake: undefined,
      usesWakeups: false,
      woken: false,
      idleHeartbeats: 0,
      askedAt: now,
    };
    const queue = this.queue(claim.name) ?? new Queue(claim.name, now);
    this.#queues.set(claim.name, queue);
    queue.waiters.set(handleOf(claim), waiter);
    if (claim.handle !== undefined) queue.owned.add(waiter);
  }

  /** Removes a handle that has stopped waiting. */
  delete(claim: Claim): void {
    const queue = this.#queues.get(claim.name);
    const waiter = queue?.waiters.get(handleOf(claim));
    if (queue === undefined || waiter === undefined) return;
    queue.waiters.delete(handleOf(claim));
    queue.owned.delete(waiter);
    if (queue.waiters.size === 0) this.#queues.delete(claim.name);
  }

  /**
   * Counts a heartbeat for the waiters that neither sleep nor ask. Returns the queued waiters that have reached the
   * limit. Counts heartbeats and not time, because nobody can ask while the event loop stands still.
   */
  idle(limit: number): QueuedWaiter[] {
    const now = this.#clock.now().monotonic;
    const idle: QueuedWaiter[] = [];
    for (const waiter of this.all) {
      waiter.idleHeartbeats = waiter.wake !== undefined || waiter.attempts > 0 ? 0 : waiter.idleHeartbeats + 1;
      if (waiter.idleHeartbeats >= limit && waiter.state === "queued") idle.push(waiter);
      if (waiter.state === "idle" && now - waiter.askedAt > FORGET_MS) this.delete(waiter.claim);
    }
    return idle;
  }
}
