import { reason } from "../../../internal/reason.ts";
import { show } from "../../../internal/validation.ts";
import { StoreError } from "../../../contract/errors.ts";
import type { RedisPort } from "../clients/port.ts";

/** The keys of the locks of one store. */
export class KeySpace {
  readonly prefix: string;
  readonly keyPrefix: string;
  readonly #tags: SlotTags;
  /** The last used keys: most locks are released just after they were acquired. */
  #last: { readonly name: string; readonly keys: LockKeys } | undefined;

  constructor({ keyPrefix }: Pick<RedisPort, "keyPrefix">, prefix: string) {
    this.prefix = prefix;
    this.keyPrefix = keyPrefix;
    this.#tags = new SlotTags(keyPrefix);
  }

  keysOf(name: string): LockKeys {
    if (this.#last?.name !== name) this.#last = { name, keys: this.#make(name) };
    return this.#last.keys;
  }

  /** Returns the name of the lock of a key on the server; `undefined` if the key belongs to no lock of this store. */
  nameOf(found: string): string | undefined {
    const lock = lockOf(found, this.#tags);
    return lock.startsWith(this.prefix) && lock !== this.prefix ? lock.slice(this.prefix.length) : undefined;
  }

  #make(name: string): LockKeys {
    const key = this.prefix + name;
    try {
      const other = lockOf(this.keyPrefix + key, this.#tags);
      // Each of the two would destroy the other one.
      if (other !== key) {
        throw new RangeError(`the key ${show(key)} belongs to the lock ${show(other)}: choose another name`);
      }
      return lockKeys(key, this.#tags);
    } catch (cause) {
      // The prefix of the client stays what it is.
      throw new StoreError(reason(cause), { cause, permanent: true });
    }
  }
}

/** The keys of one lock, in the order in which the scripts take them. */
export type LockKeys = [lock: string, queue: string, waiters: string, holders: string, grants: string, fence: string];

const SLOTS = 16_384;

/**
 * Returns the keys of a lock. The lock's own key stays plain, so that programs in other languages exclude us and are
 * excluded. The other keys have a hash tag that puts them into the Cluster slot of the lock's key.
 */
export function lockKeys(key: string, tags: SlotTags = new SlotTags("")): LockKeys {
  const start = tag(key, tags);
  return [key, `${start}:queue`, `${start}:waiters`, `${start}:holders`, `${start}:grants`, `${start}:fence`];
}

/** Returns the key of the remembered replies of repeatable requests, given the keys of a lock. */
export function callsKey(keys: LockKeys): string {
  return keys[5].replace(/fence$/, "calls");
}

/** Returns the lock of a key on a server: the lock's own key, without the client's prefix. */
export function lockOf(found: string, tags: SlotTags = new SlotTags("")): string {
  const { length } = tags.keyPrefix;
  const key = found.slice(length);
  const [, tagged = "", plain = ""] = /^\{([^}]*)\}(.*):[a-z]+$/s.exec(key) ?? [];
  const lock = plain === "" ? tagged.slice(length) : plain;
  if (lock === "") return key;
  const keys = lockKeys(lock, tags);
  return keys.includes(key) || callsKey(keys) === key ? lock : key;
}

/** Returns the start of keys in the slot of `key`. No lock's own key begins so, unless the prefix does. */
function tag(key: string, tags: SlotTags): string {
  const { keyPrefix } = tags;
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

/** The numbers that, as hash tags after the prefix of a client, lie in given slots. Each is searched for once. */
export class SlotTags {
  readonly keyPrefix: string;
  readonly #numbers = new Map<number, number>();
  #next = 0;

  constructor(keyPrefix: string) {
    this.keyPrefix = keyPrefix;
  }

  numberIn(wanted: number): number {
    for (; !this.#numbers.has(wanted); this.#next++) {
      const each = slot(`${this.keyPrefix}{${this.#next}}`);
      if (!this.#numbers.has(each)) this.#numbers.set(each, this.#next);
    }
    return this.#numbers.get(wanted)!;
  }
}

/** Returns the Cluster slot of a key: CRC-16/XMODEM of its hashed part, as the Redis Cluster specification says. */
export function slot(key: string): number {
  let crc = 0;
  for (const byte of new TextEncoder().encode(hashed(key))) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc % SLOTS;
}

/** Returns the hashed part of a key: the text between the first "{" and the next "}", if any. */
function hashed(key: string): string {
  const open = key.indexOf("{");
  const close = open < 0 ? -1 : key.indexOf("}", open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : key;
}
