import type { Claim, Kind } from "@holdfast/lock";
import { holdOf, kindOf } from "../../../src/store.ts";

/** What became of a request. */
export type Fate = "granted" | "waiting" | "conflict" | "gone";

/** The queue of one lock, as plain as it can be: no time, no messages; whoever can be granted is granted at once. */
export class QueueModel {
  /** What the lock is while somebody holds it: what its first holder made it. */
  #kind: Kind = "exclusive";
  readonly #holds: Claim[] = [];
  readonly #queue: Claim[] = [];
  readonly #fates = new Map<string, Fate>();

  /** How every request stands. */
  get fates(): ReadonlyMap<string, Fate> {
    return this.#fates;
  }

  /** A new handle asks. */
  request(claim: Claim, steal: boolean): void {
    if (this.#holds.some(({ owner }) => owner === claim.owner)) this.#again(claim);
    else if (steal) {
      for (const { owner, hold } of this.#holds.splice(0)) this.#fates.set(hold ?? owner, "gone");
      this.#grant(claim);
    } else if (this.#queue.length === 0 && this.#fits(claim)) this.#grant(claim);
    else if (this.#holds.length > 0 && permitsOf(this.#kind) !== claim.permits) this.#tell(claim, "conflict");
    else {
      this.#queue.push(claim);
      this.#tell(claim, "waiting");
    }
    this.#settle();
  }

  /** A handle gives up what it has. */
  release(claim: Claim): void {
    for (const list of [this.#holds, this.#queue]) {
      const place = list.indexOf(claim);
      if (place >= 0) list.splice(place, 1);
    }
    this.#tell(claim, "gone");
    this.#settle();
  }

  #settle(): void {
    for (;;) {
      const next = this.#queue.find((claim, place) => {
        return place === 0 && this.#fits(claim) || this.#holds.some(({ owner }) => owner === claim.owner);
      });
      if (next === undefined) return;
      this.#queue.splice(this.#queue.indexOf(next), 1);
      if (this.#holds.some(({ owner }) => owner === next.owner)) this.#again(next);
      else this.#grant(next);
    }
  }

  /** An owner that holds the lock asks for another hold. */
  #again(claim: Claim): void {
    if (this.#kind === "exclusive" || this.#kind === kindOf(claim)) this.#grant(claim);
    else this.#tell(claim, "conflict");
  }

  #fits(claim: Claim): boolean {
    if (this.#holds.length === 0) return true;
    if (this.#kind === "exclusive" || this.#kind !== kindOf(claim)) return false;
    return this.#kind === "shared" || new Set(this.#holds.map(({ owner }) => owner)).size < this.#kind;
  }

  #grant(claim: Claim): void {
    if (this.#holds.length === 0) this.#kind = kindOf(claim);
    this.#holds.push(claim);
    this.#tell(claim, "granted");
  }

  #tell(claim: Claim, fate: Fate): void {
    this.#fates.set(holdOf(claim), fate);
  }
}

function permitsOf(kind: Kind): number | undefined {
  return typeof kind === "number" ? kind : undefined;
}
