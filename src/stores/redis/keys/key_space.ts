import { reason } from "../../../internal/reason.ts";
import { StoreError } from "../../../errors.ts";
import type { RedisPort } from "../clients/port.ts";
import { type LockKeys, lockKeys, lockOf, SlotTags } from "./keys.ts";

/** The keys of the locks of one store. */
export class KeySpace {
  /** The prefix of the name in the lock's own key. */
  readonly prefix: string;
  readonly #port: Pick<RedisPort, "keyPrefix">;
  #tags: SlotTags | undefined;
  /** The keys that were needed last: a lock is mostly released just after it was acquired. */
  #last: { readonly name: string; readonly keys: LockKeys } | undefined;

  /** Names the keys of locks on the server of a client. */
  constructor(port: Pick<RedisPort, "keyPrefix">, prefix: string) {
    this.#port = port;
    this.prefix = prefix;
  }

  /** The prefix that the client puts before every key. */
  get keyPrefix(): string {
    return this.#port.keyPrefix;
  }

  /** Returns the keys of the lock of this name, in the order in which the scripts take them. */
  keysOf(name: string): LockKeys {
    if (this.#last?.name !== name) this.#last = { name, keys: this.#make(name) };
    return this.#last.keys;
  }

  /** Returns the name of the lock that a key on the server belongs to; `undefined` if it is a key of no such lock. */
  nameOf(found: string): string | undefined {
    const lock = lockOf(found, this.keyPrefix, this.#slotTags());
    return lock.startsWith(this.prefix) && lock !== this.prefix ? lock.slice(this.prefix.length) : undefined;
  }

  #make(name: string): LockKeys {
    try {
      return lockKeys(this.prefix + name, this.keyPrefix, this.#slotTags());
    } catch (cause) {
      // The prefix of the client stays what it is.
      throw new StoreError(reason(cause), { cause, permanent: true });
    }
  }

  #slotTags(): SlotTags {
    return this.#tags ??= new SlotTags(this.keyPrefix);
  }
}
