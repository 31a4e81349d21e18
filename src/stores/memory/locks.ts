import type { Clock } from "../../internal/time/clock.ts";
import { MemoryLock } from "./lock.ts";

/** From so many names on, the names whose leases have ended are looked for. */
const PRUNE_FROM = 1_000;

/** The locks of a store that are held or waited for, by name. */
export class Locks {
  readonly #clock: Clock;
  readonly #locks = new Map<string, MemoryLock>();
  /** At how many names they are looked through next. */
  #pruneAt = PRUNE_FROM;

  /** Creates an empty list. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The names that are held or waited for, and some that were. */
  get names(): string[] {
    return [...this.#locks.keys()];
  }

  /** Returns a lock, without the holders whose leases have ended; `undefined` if nobody holds it or waits for it. */
  get(name: string): MemoryLock | undefined {
    const lock = this.#locks.get(name);
    lock?.deleteExpired(this.#clock.now());
    if (lock?.unused) this.#locks.delete(name);
    return lock?.unused ? undefined : lock;
  }

  /** Returns a lock; a new one, which is not kept yet, if nobody holds it or waits for it. */
  getOrCreate(name: string): MemoryLock {
    return this.get(name) ?? new MemoryLock();
  }

  /** Keeps a lock that somebody waits for now. */
  keep(name: string, lock: MemoryLock): void {
    this.#locks.set(name, lock);
  }

  /** Keeps a lock that somebody holds now. Sometimes deletes the locks whose holders never came back. */
  keepHeld(name: string, lock: MemoryLock): void {
    if (this.#locks.size >= this.#pruneAt) this.#prune();
    this.keep(name, lock);
  }

  /** Wakes the waiters of a lock that can hold it now. Forgets the lock if nobody holds it or waits for it. */
  serve(name: string, lock: MemoryLock): void {
    if (lock.unused) this.#locks.delete(name);
    lock.wakeNext(this.#clock.now());
  }

  /** Deletes the locks that were used once and never released: nobody asks for them again. */
  #prune(): void {
    for (const name of this.names) this.get(name);
    this.#pruneAt = Math.max(PRUNE_FROM, 2 * this.#locks.size);
  }
}
