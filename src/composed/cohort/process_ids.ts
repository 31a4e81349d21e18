/** The length of a UUID, and how many of its characters all ids of a process have in common: 48 bits. */
const LENGTH = 36;
const COMMON = 13;

/**
 * The ids under which a process asks a store for the locks of its handles: UUIDs that begin alike. So the process knows
 * its own ids in a listing, however long ago it has used them: a lock may be listed while it is being released.
 */
export class ProcessIds {
  readonly #common = crypto.randomUUID().slice(0, COMMON);

  /** Returns a new id. */
  next(): string {
    return this.#common + crypto.randomUUID().slice(COMMON);
  }

  /** Returns whether an id is one of this process. */
  has(id: string): boolean {
    return id.length === LENGTH && id.startsWith(this.#common);
  }
}
