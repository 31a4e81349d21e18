/** The keys of one lock, in the order in which the scripts take them. */
export type LockKeys = [lock: string, queue: string, waiters: string, holders: string, fence: string];

/** The number of hash slots of a Redis Cluster. */
const SLOTS = 16_384;

/**
 * The keys of a lock. The lock's own key stays plain, so that programs in other languages exclude us and are excluded;
 * the others carry a hash tag that puts them into its Cluster slot.
 *
 * @param key the lock's own key, without what the client puts before it
 * @param keyPrefix what the client puts before every key
 */
export function lockKeys(key: string, keyPrefix = ""): LockKeys {
  const tagged = tag(key, keyPrefix);
  return [key, `${tagged}:queue`, `${tagged}:waiters`, `${tagged}:holders`, `${tagged}:fence`];
}

/**
 * The lock that a key on a server belongs to: the lock's own key, without what the client puts before it.
 *
 * @param found a key as the server has it
 * @param keyPrefix what the client puts before every key, as it does before this one
 */
export function lockOf(found: string, keyPrefix = ""): string {
  const key = found.slice(keyPrefix.length);
  const [, tagged = "", plain = ""] = /^\{([^}]*)\}(.*):[a-z]+$/s.exec(key) ?? [];
  const lock = plain === "" ? tagged.slice(keyPrefix.length) : plain;
  return lock !== "" && lockKeys(lock, keyPrefix).includes(key) ? lock : key;
}

/** The start of keys that lie in the slot of `key`, and are no lock's own key unless the prefix itself begins so. */
function tag(key: string, keyPrefix: string): string {
  const full = keyPrefix + key;
  // The usual case: no brace anywhere, so the whole key can be the tag.
  if (!full.includes("{") && !full.includes("}")) return `{${full}}`;
  const fits = (candidate: string) => {
    const start = `${keyPrefix}${candidate}:`;
    return hashed(start) !== start && slot(start) === slot(full);
  };
  if (fits(`{${hashed(full)}}${key}`)) return `{${hashed(full)}}${key}`;
  // A brace that makes no tag cannot stand inside one: then a number is found that hashes into the same slot.
  if (hashed(`${keyPrefix}{0}`) !== `${keyPrefix}{0}`) return `{${numberIn(slot(full), keyPrefix)}}${key}`;
  throw new RangeError(`keyPrefix must not contain "{}": got ${JSON.stringify(keyPrefix)}`);
}

/** The numbers that were found for the slots behind a prefix; the search goes on where it ended. */
const numbers = new Map<string, { readonly of: Map<number, number>; next: number }>();

/** A number that as a tag behind the prefix lies in a slot. */
function numberIn(wanted: number, keyPrefix: string): number {
  const found = numbers.get(keyPrefix) ?? { of: new Map(), next: 0 };
  numbers.set(keyPrefix, found);
  for (; !found.of.has(wanted); found.next++) {
    const each = slot(`${keyPrefix}{${found.next}}`);
    if (!found.of.has(each)) found.of.set(each, found.next);
  }
  return found.of.get(wanted)!;
}

/** The Cluster slot of a key: CRC-16/XMODEM of its hashed part, as the Redis Cluster specification defines it. */
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
