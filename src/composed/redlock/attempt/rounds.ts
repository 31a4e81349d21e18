import { ShortLivedMap } from "../../../internal/process/short_lived.ts";
import { type Clock, elapsed, type Instant } from "../../../internal/time/clock.ts";
import type { Claim } from "../../../store.ts";
import type { Contention } from "./contention.ts";
import type { Round } from "./round.ts";

/** A round, and the claim that it is for. */
export interface RoundEntry {
  /** As it was last asked for or renewed. */
  readonly claim: Claim;
  readonly round: Round;
  /** When that was: it can last for the lease of the claim from then on. */
  readonly since: Instant;
}

/** The present round of each handle, by its owner; those that were not used for longest come first. */
export class Rounds {
  readonly #clock: Clock;
  readonly #contention: Contention;
  readonly #entries = new ShortLivedMap<string, RoundEntry>();

  /** Makes an empty list. `contention` is notified which names are asked for and held. */
  constructor(clock: Clock, contention: Contention) {
    this.#clock = clock;
    this.#contention = contention;
  }

  /** Returns the round of an owner for this lock. */
  of({ name, owner }: Pick<Claim, "name" | "owner">): Round | undefined {
    const entry = this.#entries.get(owner);
    return entry?.claim.name === name ? entry.round : undefined;
  }

  /** Keeps the round of an owner that asks for a lock or renews it. */
  keep(claim: Claim, round: Round, since = this.#clock.now()): void {
    if (!this.#entries.delete(claim.owner)) this.#contention.add(claim.name);
    this.#entries.set(claim.owner, { claim, round, since });
  }

  /** Forgets the round of an owner. */
  forget({ name, owner }: Pick<Claim, "name" | "owner">): void {
    if (this.#entries.delete(owner)) this.#contention.remove(name);
  }

  /**
   * Forgets the rounds whose leases ended long ago. Returns them: a slow node may have granted or queued them since, or
   * may do so yet.
   */
  sweep(): readonly RoundEntry[] {
    const forgotten: RoundEntry[] = [];
    if (this.#entries.size === 0) return forgotten;
    const now = this.#clock.now();
    for (const entry of this.#entries.values()) {
      const { claim, round, since } = entry;
      const kept = !round.attempting && (round.fence !== undefined || round.released);
      // A renewal whose answer was lost may have been executed until the end of the lease: until then there is something
      // to release.
      if (!kept || elapsed(since, now) < 2 * claim.lease) break;
      this.forget(claim);
      forgotten.push(entry);
    }
    return forgotten;
  }
}
