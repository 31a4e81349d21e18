import { ShortLivedMap } from "../../internal/process/short_lived.ts";

/** The last fence of each name, in bounded memory: names that were not raised for long share the highest of theirs. */
export class Fences {
  /** The names that were raised last come last. */
  readonly #last = new ShortLivedMap<string, bigint>((fence, old) => {
    if (old && fence > this.#shared) this.#shared = fence;
    return old;
  });
  #shared = 0n;

  /** Returns a number that no fence of the name is above: its last fence, unless that was forgotten. */
  last(name: string): bigint {
    return this.#last.get(name) ?? this.#shared;
  }

  /** Sets the last fence of a name to one that is above it. */
  raise(name: string, fence: bigint): void {
    this.#last.delete(name);
    this.#last.set(name, fence);
  }
}
