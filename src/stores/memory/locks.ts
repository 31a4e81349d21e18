import { ShortLivedMap } from "../../time/short_lived.ts";
import type { Clock } from "../../time/clock.ts";
import { MemoryLock } from "./lock.ts";

/** The locks of a store that are held or waited for, by name. */
export class Locks {
  readonly #clock: Clock;
  /** The locks. Locks that were used once and never released are dropped: nobody asks for them again. */
  readonly #locks = new ShortLivedMap<string, MemoryLock>((lock) => this.#isUnused(lock));

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The names that are held or waited for, and some that were. */
  get names(): string[] {
    return [...this.#locks.keys()];
  }

  /** Returns a lock, without the holders whose leases have ended; `undefined` if it has neither holders nor waiters. */
  get(name: string): MemoryLock | undefined {
    const lock = this.#locks.get(name);
    if (lock === undefined || !this.#isUnused(lock)) return lock;
    this.#locks.delete(name);
    return undefined;
  }

  /** Returns a lock; if it has neither holders nor waiters a new one, which is not kept yet. */
  getOrCreate(name: string): MemoryLock {
    return this.get(name) ?? new MemoryLock();
  }

  keep(name: string, lock: MemoryLock): void {
    this.#locks.set(name, lock);
  }

  /** Removes a lock without holders and waiters. */
  delete(name: string): void {
    this.#locks.delete(name);
  }

  #isUnused(lock: MemoryLock): boolean {
    lock.deleteExpired(this.#clock.now());
    return lock.unused;
  }
}
