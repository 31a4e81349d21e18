/** The keys of one lock, in the order in which the scripts take them. */
export type LockKeys = [lock: string, queue: string, waiters: string, fence: string];

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
  return [key, `${tagged}:queue`, `${tagged}:waiters`, `${tagged}:fence`];
}

/** The start of a key that lies in the slot of `key` and of no other lock. */
function tag(key: string, keyPrefix: string): string {
  const full = keyPrefix + key;
  if (hashed(full) !== full) return key;
  // The usual case: no brace anywhere, so the whole key can be the tag.
  if (!full.includes("{") && !full.includes("}")) return `{${full}}`;
  // A brace that makes no tag cannot stand inside one: find a number that hashes into the same slot instead.
  const wanted = slot(full);
  for (let number = 0; number < 100 * SLOTS; number++) {
    // "}" first as well: an open brace in the client's prefix would begin the tag.
    const candidate = `{${number}}${key}`;
    if (slot(`${keyPrefix}${candidate}:`) === wanted) return candidate;
  }
  throw new RangeError(`keyPrefix must not contain "{}": got ${JSON.stringify(keyPrefix)}`);
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
