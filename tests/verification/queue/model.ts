import type { Claim, Kind } from "@holdfast/lock";
import { handleOf, kindOf } from "../../../src/contract/store.ts";
import { excluded } from "../exclusion.ts";

/** What became of a request. */
export type Fate = "granted" | "waiting" | "conflict" | "gone";

/**
 * The queue of one lock in its plainest form: no time, no messages. A waiter that can be granted the lock is, at once.
 */
export class QueueModel {
  readonly #holders: Claim[] = [];
  readonly #queue: Claim[] = [];
  readonly #fates = new Map<string, Fate>();

  /** What became of every request. */
  get fates(): ReadonlyMap<string, Fate> {
    return this.#fates;
  }

  /** The kind of the lock while it has holders: exclusive, unless all handles are of one other kind. */
  get #kind(): Kind {
    const [first] = this.#holders;
    return first !== undefined && this.#holders.every((claim) => kindOf(claim) === kindOf(first))
      ? kindOf(first)
      : "exclusive";
  }

  /** Asks for a new handle. */
  request(claim: Claim, steal: boolean): void {
    if (this.#holders.some(({ owner }) => owner === claim.owner)) this.#reenter(claim);
    else if (steal) {
      for (const { owner, handle } of this.#holders.splice(0)) this.#fates.set(handle ?? owner, "gone");
      this.#grant(claim);
    } else if (this.#queue.length === 0 && this.#fits(claim)) this.#grant(claim);
    else if (this.#holders.length > 0 && permitsOf(this.#kind) !== claim.permits) this.#note(claim, "conflict");
    else {
      this.#queue.push(claim);
      this.#note(claim, "waiting");
    }
    this.#settle();
  }

  /** Releases a handle, or takes it out of the queue. */
  release(claim: Claim): void {
    for (const list of [this.#holders, this.#queue]) {
      const place = list.indexOf(claim);
      if (place >= 0) list.splice(place, 1);
    }
    this.#note(claim, "gone");
    this.#settle();
  }

  #settle(): void {
    for (;;) {
      const next = this.#queue.find((claim, place) => {
        return place === 0 && this.#fits(claim) || this.#holders.some(({ owner }) => owner === claim.owner);
      });
      if (next === undefined) return;
      this.#queue.splice(this.#queue.indexOf(next), 1);
      if (this.#holders.some(({ owner }) => owner === next.owner)) this.#reenter(next);
      else this.#grant(next);
    }
  }

  /** Asks for a further handle of an owner that holds the lock. */
  #reenter(claim: Claim): void {
    if (this.#kind === "exclusive" || this.#kind === kindOf(claim)) this.#grant(claim);
    else this.#note(claim, "conflict");
  }

  #fits(claim: Claim): boolean {
    const [holder, ...others] = [claim, ...this.#holders].map((each) => ({ kind: kindOf(each), owner: each.owner }));
    return excluded(holder!, others).length === 0;
  }

  #grant(claim: Claim): void {
    this.#holders.push(claim);
    this.#note(claim, "granted");
  }

  #note(claim: Claim, fate: Fate): void {
    this.#fates.set(handleOf(claim), fate);
  }
}

function permitsOf(kind: Kind): number | undefined {
  return typeof kind === "number" ? kind : undefined;
}
