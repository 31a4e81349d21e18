/** For how long the last call of a handle is remembered, in milliseconds: longer than one may be on its way. */
const REMEMBERED_MS = 60_000;

/** How many calls are kept in the storage, the last ones: what an object that was evicted from memory knows of them. */
const KEPT = 64;

/** How long the ids of their callers may be together, in characters: there is no more room beside a full document. */
const KEPT_CHARACTERS = 4_000;

/** A call: the ids of its store object and its handle, its number, and when it came, in milliseconds since the epoch. */
export type NumberedCall = readonly [caller: string, number: number, at: number];

/**
 * The numbers of the last calls of handles. A store object counts its calls, so that one that comes after a later one of
 * the same handle is late: its caller has given up. If an attempt after the release were executed, nobody would release
 * the lock that it is granted.
 */
export class CallNumbers {
  /** By their callers, the last calls last. */
  readonly #calls = new Map<string, NumberedCall>();
  /** The last ones: each write has them, and there may be thousands of all. */
  #last: readonly NumberedCall[] = [];

  /** Adds calls that were kept in the storage. */
  add(calls: readonly NumberedCall[]): void {
    for (const call of calls) this.accept(...call);
  }

  /** Notes a call, and forgets old ones. Returns `false` if it, or a later one of its caller, has come before. */
  accept(caller: string, number: number, now: number): boolean {
    if (number <= (this.#calls.get(caller)?.[1] ?? -1)) return false;
    this.#calls.delete(caller);
    const call: NumberedCall = [caller, number, now];
    this.#calls.set(caller, call);
    this.#last = [...this.#last.filter(([known]) => known !== caller), call].slice(-KEPT);
    for (const [oldest, [, , at]] of this.#calls) {
      if (now - at < REMEMBERED_MS) break;
      this.#calls.delete(oldest);
    }
    return true;
  }

  /** Returns the calls that are to be kept in the storage. */
  get last(): NumberedCall[] {
    let room = KEPT_CHARACTERS;
    const newest = this.#last.filter(([caller]) => this.#calls.has(caller)).reverse();
    return newest.filter(([{ length }]) => (room -= length) >= 0).reverse();
  }
}
