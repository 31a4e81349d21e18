import { ShortLivedMap } from "../../internal/process/short_lived.ts";
import type { Clock } from "../../internal/time/clock.ts";
import { MemoryLock } from "./lock.ts";

/** The locks of a store that are held or waited for, by name. */
export class Locks {
  readonly #clock: Clock;
  /** Those that were used once and never released are forgotten: nobody asks for them again. */
  readonly #locks = new ShortLivedMap<string, MemoryLock>((lock) => this.#isUnused(lock));

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
    if (lock === undefined || !this.#isUnused(lock)) return lock;
    this.#locks.delete(name);
    return undefined;
  }

  /** Returns a lock; a new one, which is not kept yet, if nobody holds it or waits for it. */
  getOrCreate(name: string): MemoryLock {
    return this.get(name) ?? new MemoryLock();
  }

  /** Keeps a lock that somebody holds or waits for now. */
  keep(name: string, lock: MemoryLock): void {
    this.#locks.set(name, lock);
  }

  /** Forgets a lock that nobody holds or waits for. */
  delete(name: string): void {
    this.#locks.delete(name);
  }

  #isUnused(lock: MemoryLock): boolean {
    lock.deleteExpired(this.#clock.now());
    return lock.unused;
  }
}
