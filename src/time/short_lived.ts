/** How many entries are deleted, beyond the number of the remaining entries, before the rest is copied. */
const DELETED = 32;

/** How many of the youngest entries count as young. */
const YOUNG = 1_000;

/**
 * A map whose entries come and go all the time. V8 links each table of a `Map` to its replacement, so that one old
 * table keeps all later tables alive, with their entries, until a full collection. A map with 64 short-lived entries
 * took four times the time of a map that is copied now and then.
 *
 * The map can also drop entries that nobody deletes: it looks for them at 2,000 entries, and whenever its size has
 * doubled since.
 */
export class ShortLivedMap<K, V> {
  #map = new Map<K, V>();
  #deleted = 0;
  #pruneAt = 2 * YOUNG;
  readonly #isUseless: ((value: V, old: boolean) => boolean) | undefined;

  /** Creates an empty map that drops useless entries. An entry is old when 1,000 later entries have been added. */
  constructor(isUseless?: (value: V, old: boolean) => boolean) {
    this.#isUseless = isUseless;
    if (isUseless === undefined) this.#pruneAt = Infinity;
  }

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): void {
    if (this.#map.size >= this.#pruneAt) this.#prune();
    this.#map.set(key, value);
  }

  setFirst(key: K, value: V): void {
    this.#map = new Map([[key, value], ...this.#map]);
  }

  delete(key: K): boolean {
    if (!this.#map.delete(key)) return false;
    if (++this.#deleted > DELETED + this.#map.size) {
      this.#deleted = 0;
      this.#map = new Map(this.#map);
    }
    return true;
  }

  keys(): Iterable<K> {
    return this.#map.keys();
  }

  entries(): Iterable<[K, V]> {
    return this.#map.entries();
  }

  values(): Iterable<V> {
    return this.#map.values();
  }

  #prune(): void {
    // Looking at an entry may set it.
    this.#pruneAt = Infinity;
    let younger = this.#map.size;
    for (const [key, value] of [...this.#map]) if (this.#isUseless!(value, younger-- > YOUNG)) this.delete(key);
    this.#pruneAt = 2 * Math.max(YOUNG, this.#map.size);
  }
}

/** A set whose members come and go all the time, see {@linkcode ShortLivedMap}. */
export class ShortLivedSet<T> extends ShortLivedMap<T, true> {
  add(member: T): this {
    this.set(member, true);
    return this;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.keys()[Symbol.iterator]();
  }
}
