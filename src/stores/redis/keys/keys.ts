/** The keys of one lock, in the order in which the scripts take them. */
export type LockKeys = [lock: string, queue: string, waiters: string, holders: string, grants: string, fence: string];

/** The number of hash slots of a Redis Cluster. */
const SLOTS = 16_384;

/**
 * Returns the keys of a lock. The lock's own key stays plain, so that programs in other languages exclude us and are
 * excluded. The others carry a hash tag that puts them into the Cluster slot of that key.
 *
 * @param key the lock's own key, without what the client puts before it
 * @param keyPrefix what the client puts before every key
 * @param tags numbers that were found before behind this prefix
 */
export function lockKeys(key: string, keyPrefix = "", tags: SlotTags = new SlotTags(keyPrefix)): LockKeys {
  const tagged = tag(key, keyPrefix, tags);
  return [
    key,
    `${tagged}:queue`,
    `${tagged}:waiters`,
    `${tagged}:holders`,
    `${tagged}:grants`,
    `${tagged}:fence`,
  ];
}

/**
 * Returns the lock that a key on a server belongs to: the lock's own key, without what the client puts before it.
 *
 * @param found a key as the server has it
 * @param keyPrefix what the client puts before every key, as it does before this one
 * @param tags numbers that were found before behind this prefix
 */
export function lockOf(found: string, keyPrefix = "", tags: SlotTags = new SlotTags(keyPrefix)): string {
  const key = found.slice(keyPrefix.length);
  const [, tagged = "", plain = ""] = /^\{([^}]*)\}(.*):[a-z]+$/s.exec(key) ?? [];
  const lock = plain === "" ? tagged.slice(keyPrefix.length) : plain;
  return lock !== "" && lockKeys(lock, keyPrefix, tags).includes(key) ? lock : key;
}

/** The start of keys that lie in the slot of `key`, and are no lock's own key unless the prefix itself begins so. */
function tag(key: string, keyPrefix: string, tags: SlotTags): string {
  const full = keyPrefix + key;
  // The usual case: no brace anywhere, so the whole key can be the tag.
  if (!full.includes("{") && !full.includes("}")) return `{${full}}`;
  const fits = (candidate: string) => {
    const start = `${keyPrefix}${candidate}:`;
    return hashed(start) !== start && slot(start) === slot(full);
  };
  if (fits(`{${hashed(full)}}${key}`)) return `{${hashed(full)}}${key}`;
  // A brace that makes no tag cannot stand inside one. A number that hashes into the same slot takes its place.
  if (hashed(`${keyPrefix}{0}`) !== `${keyPrefix}{0}`) return `{${tags.numberIn(slot(full))}}${key}`;
  throw new RangeError(`keyPrefix must not contain "{}": got ${JSON.stringify(keyPrefix)}`);
}

/** Numbers that, as hash tags behind a prefix, lie in given slots. Each is searched for once. */
export class SlotTags {
  readonly #keyPrefix: string;
  readonly #numbers = new Map<number, number>();
  /** The number at which the search goes on. */
  #next = 0;

  /** Creates an empty table; numbers are searched when they are needed. */
  constructor(keyPrefix: string) {
    this.#keyPrefix = keyPrefix;
  }

  /** Returns a number that lies in this slot. */
  numberIn(wanted: number): number {
    for (; !this.#numbers.has(wanted); this.#next++) {
      const each = slot(`${this.#keyPrefix}{${this.#next}}`);
      if (!this.#numbers.has(each)) this.#numbers.set(each, this.#next);
    }
    return this.#numbers.get(wanted)!;
  }
}

/** Returns the Cluster slot of a key: CRC-16/XMODEM of its hashed part, as the Redis Cluster specification defines it. */
export function slot(key: string): number {
  let crc = 0;
  for (const byte of new TextEncoder().encode(hashed(key))) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc % SLOTS;
}

/** The part of a key that is hashed: what stands between the first "{" and the next "}", if anything does. */
function hashed(key: string): string {
  const open = key.indexOf("{");
  const close = open < 0 ? -1 : key.indexOf("}", open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : key;
}
