/** For how long the last call of a handle is remembered, in milliseconds: longer than a call may be on its way. */
const REMEMBERED_MS = 60_000;

/** How many of the last calls are kept in the storage, for an object that was evicted from memory. */
const KEPT = 64;

/** The total length of the ids of these callers, in characters: there is no more room beside a full document. */
const KEPT_CHARACTERS = 4_000;

/** A call: the ids of its store object and its handle, its number, and its time in milliseconds since the epoch. */
export type NumberedCall = readonly [caller: string, number: number, at: number];

/**
 * The numbers of the last calls of handles. A store object counts its calls. A call that arrives after a later call of
 * the same handle is late: its caller has given up. If an attempt were executed after the release, nobody would release
 * the granted lock.
 */
export class CallNumbers {
  /** The calls by their callers, the newest last. */
  readonly #calls = new Map<string, NumberedCall>();
  /** The newest calls: each write has them, and there may be thousands of calls. */
  #last: readonly NumberedCall[] = [];

  /** Adds calls that were kept in the storage. */
  add(calls: readonly NumberedCall[]): void {
    for (const call of calls) this.accept(...call);
  }

  /** Records a call, and drops old calls. Returns `false` if it, or a later call of its caller, has come before. */
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

  /** Returns the calls to keep in the storage. */
  get last(): NumberedCall[] {
    let room = KEPT_CHARACTERS;
    const newest = this.#last.filter(([caller]) => this.#calls.has(caller)).reverse();
    return newest.filter(([{ length }]) => (room -= length) >= 0).reverse();
  }
}
