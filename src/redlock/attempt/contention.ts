import { ShortLivedMap } from "../../time/short_lived.ts";
import { type Clock, elapsed, type Instant } from "../../time/clock.ts";

/** For how long a name counts as contended after it was busy, in milliseconds. */
const RECENT_MS = 1_000;

/** The names that are probably busy: for these, the coordinator alone is asked first. */
export class Contention {
  readonly #clock: Clock;
  /** How many handles of this store hold each name or ask for it. */
  readonly #handles = new ShortLivedMap<string, number>();
  /** When each name was last busy, the oldest entry first. */
  readonly #busy = new ShortLivedMap<string, Instant>((_, old) => old);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a handle that asks for a name, and may then hold it. */
  add(name: string): void {
    this.#handles.set(name, (this.#handles.get(name) ?? 0) + 1);
  }

  /** Removes a handle that neither asks for the name nor holds it. */
  remove(name: string): void {
    const others = this.#handles.get(name)! - 1;
    if (others > 0) this.#handles.set(name, others);
    else this.#handles.delete(name);
  }

  noteBusy(name: string): void {
    this.#busy.delete(name);
    this.#busy.set(name, this.#clock.now());
  }

  /** Returns whether a name is probably busy: it just was, or a handle of this store holds it or asks for it. */
  isLikely(name: string): boolean {
    if (this.#handles.has(name)) return true;
    const busy = this.#busy.get(name);
    return busy !== undefined && elapsed(busy, this.#clock.now()) < RECENT_MS;
  }
}
