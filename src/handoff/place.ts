import { ShortLivedMap } from "../time/short_lived.ts";
import type { NameHandoff } from "./name_handoff.ts";

/** The objects that hand each lock on, by its key; empty while no two handles of one object want the same lock. */
type LocksHandedOn = ShortLivedMap<string, Set<NameHandoff>>;

/** The places, by client or store: callers make no second object of them, so that they alone lead to the place. */
const known = new WeakMap<object, LocksHandedOn>();

/**
 * The locks that several objects of this process may hand on: the locks of one store, or the locks that one client
 * reaches under a prefix or in a table. When one of the objects revokes a lock, all of them stop handing it on.
 */
export class HandoffPlace {
  readonly #locks: LocksHandedOn;
  readonly #prefix: string;

  constructor(target: object, prefix = "") {
    this.#locks = known.get(target) ?? new ShortLivedMap(prune);
    this.#prefix = prefix;
    known.set(target, this.#locks);
  }

  /** Returns the states that hand a lock on, through any object. */
  sharing(name: string): readonly NameHandoff[] {
    return [...this.#locks.get(this.#prefix + name) ?? []];
  }

  /** Yields the states that hand on the locks of this prefix, by name. */
  *entries(): Iterable<[name: string, shared: NameHandoff]> {
    for (const [key, all] of this.#locks.entries()) {
      if (!key.startsWith(this.#prefix) || key === this.#prefix) continue;
      for (const shared of all) yield [key.slice(this.#prefix.length), shared];
    }
  }

  add(name: string, shared: NameHandoff): void {
    const key = this.#prefix + name;
    const present = this.#locks.get(key);
    if (present === undefined) this.#locks.set(key, new Set([shared]));
    else present.add(shared);
  }

  delete(name: string, shared: NameHandoff): void {
    const key = this.#prefix + name;
    const present = this.#locks.get(key);
    present?.delete(shared);
    if (present?.size === 0) this.#locks.delete(key);
  }
}

/** Drops handles without callers: nobody else does so once the object that they used is garbage. */
function prune(all: Set<NameHandoff>): boolean {
  for (const shared of [...all]) shared.prune();
  return all.size === 0;
}
