import { ShortLivedMap } from "../../time/short_lived.ts";

/** The last fence of each name, in bounded memory: names with no recent fence share the highest of their fences. */
export class Fences {
  /** The last fences, by name; the names with the newest fences come last. */
  readonly #last = new ShortLivedMap<string, bigint>((fence, old) => {
    if (old && fence > this.#shared) this.#shared = fence;
    return old;
  });
  #shared = 0n;

  /** Returns a number that no fence of the name exceeds: its last fence, unless it was dropped. */
  last(name: string): bigint {
    return this.#last.get(name) ?? this.#shared;
  }

  /** Sets the last fence of a name to a larger one. */
  raise(name: string, fence: bigint): void {
    this.#last.delete(name);
    this.#last.set(name, fence);
  }
}
