import { type Clock, elapsed, type Instant } from "../../_clock.ts";
import type { Claim } from "../../store.ts";
import type { Contention } from "./contention.ts";
import type { Round } from "./round.ts";

interface Entry {
  readonly name: string;
  readonly round: Round;
  /** When the store heard of it last, and for how long it can last from then on, in milliseconds. */
  readonly heard: Instant;
  readonly lease: number;
}

/** The present round of each handle, by its owner; those that were not heard of for longest come first. */
export class Rounds {
  readonly #clock: Clock;
  readonly #contention: Contention;
  readonly #entries = new Map<string, Entry>();

  /** `contention` is told which names are asked for and held. */
  constructor(clock: Clock, contention: Contention) {
    this.#clock = clock;
    this.#contention = contention;
  }

  /** The round of an owner. */
  of(owner: string): Round | undefined {
    return this.#entries.get(owner)?.round;
  }

  /** Notes the round of an owner that asks for a lock or keeps it. */
  keep({ name, owner, lease }: Claim, round: Round, heard = this.#clock.now()): void {
    if (!this.#entries.delete(owner)) this.#contention.enter(name);
    this.#entries.set(owner, { name, round, heard, lease });
  }

  /** Forgets an owner. */
  forget({ name, owner }: Pick<Claim, "name" | "owner">): void {
    if (this.#entries.delete(owner)) this.#contention.leave(name);
  }

  /** Forgets whoever has let a lease run out, or could not release in time. */
  sweep(): void {
    if (this.#entries.size === 0) return;
    const now = this.#clock.now();
    for (const [owner, { name, round, heard, lease }] of this.#entries) {
      const kept = round.fence !== undefined || round.over;
      // A renewal that nobody has heard of may have come through until the end of the lease: until then there is
      // something to release.
      if (!kept || elapsed(heard, now) < 2 * lease) break;
      this.forget({ name, owner });
    }
  }
}
