import { ShortLivedMap } from "../../time/short_lived.ts";
import { type Clock, elapsed, type Instant } from "../../time/clock.ts";
import type { Claim } from "../../contract/store.ts";
import type { Contention } from "./contention.ts";
import type { Round } from "./round.ts";

export interface RoundEntry {
  readonly claim: Claim;
  readonly round: Round;
  /** When that call was sent. */
  readonly since: Instant;
  /** For how long the lock can last after the call, in milliseconds. */
  readonly lease: number;
}

/** The present round of each handle, by its owner; the longest unused rounds come first. */
export class Rounds {
  readonly #clock: Clock;
  readonly #contention: Contention;
  readonly #entries = new ShortLivedMap<string, RoundEntry>();

  /** Creates an empty list. Reports to `contention` which names are asked for and held. */
  constructor(clock: Clock, contention: Contention) {
    this.#clock = clock;
    this.#contention = contention;
  }

  of({ name, owner }: Pick<Claim, "name" | "owner">): Round | undefined {
    const entry = this.#entries.get(owner);
    return entry?.claim.name === name ? entry.round : undefined;
  }

  /** Keeps the round of an owner that asks for a lock or renews it. */
  keep(claim: Claim, round: Round, since = this.#clock.now()): void {
    const before = this.#entries.get(claim.owner);
    if (!this.#entries.delete(claim.owner)) this.#contention.add(claim.name);
    // The lock may have a longer lease by now than an attempt that is repeated asks for.
    const left = before === undefined ? 0 : before.lease - elapsed(before.since, since);
    this.#entries.set(claim.owner, { claim, round, since, lease: Math.max(claim.lease, left) });
  }

  forget({ name, owner }: Pick<Claim, "name" | "owner">): void {
    if (this.#entries.delete(owner)) this.#contention.remove(name);
  }

  /** Removes and returns the rounds whose leases ended long ago: a slow node may still grant or queue them. */
  sweep(): readonly RoundEntry[] {
    const forgotten: RoundEntry[] = [];
    if (this.#entries.size === 0) return forgotten;
    const now = this.#clock.now();
    for (const entry of this.#entries.values()) {
      const { claim, round, since, lease } = entry;
      const kept = !round.attempting && (round.fence !== undefined || round.released);
      // A renewal whose answer was lost may have been executed until the end of the lease: until then there is
      // something to release.
      if (!kept || elapsed(since, now) < 2 * lease) break;
      this.forget(claim);
      forgotten.push(entry);
    }
    return forgotten;
  }
}
