import { type Clock, elapsed, type Instant } from "../../internal/clock.ts";
import { ShortLivedMap } from "../../internal/short_lived.ts";
import { type Claim, handleOf } from "../../store.ts";
import { FORGOTTEN_MS } from "./own_tickets.ts";

/** From so many handles on, those that were never released are looked for. */
const PRUNE_FROM = 1_000;

/** How many names are remembered that several handles wanted at once. */
const REMEMBERED = 1_000;

/** A handle whose lock no other one wants. */
export interface LoneHandle {
  /** What it asked for, with the lease of its last renewal. */
  claim: Claim;
  /** Whether the store has answered that it has the lock. */
  granted: boolean;
  /** When it was found not to have asked since it was looked at before. */
  seen: Instant | undefined;
}

/**
 * The handles whose lock no other handle of this process wants: they ask the store by themselves, as without a cohort,
 * because there is nobody to hand the lock on to. Of a name that several wanted at once, lately, no handle is one.
 */
export class LoneHandles {
  readonly #clock: Clock;
  /** By the names of their locks. */
  #handles = new ShortLivedMap<string, LoneHandle>();
  readonly #shared: Set<string>;
  #pruneAt = PRUNE_FROM;

  /** Begins with the names of which it is known that several handles want them at once. */
  constructor(clock: Clock, shared: Iterable<string>) {
    this.#clock = clock;
    this.#shared = new Set(shared);
  }

  /** Returns the names of the locks. */
  get names(): Iterable<string> {
    return this.#handles.keys();
  }

  /** Returns whether the handle is the only one that wants its lock, and notes that it does. */
  admits(claim: Claim): boolean {
    const known = this.#handles.get(claim.name);
    if (known !== undefined) {
      if (handleOf(known.claim) !== handleOf(claim)) return false;
      known.seen = undefined;
      return true;
    }
    if (this.#shared.has(claim.name)) return false;
    if (this.#handles.size >= this.#pruneAt) this.#prune();
    this.#handles.set(claim.name, { claim, granted: false, seen: undefined });
    return true;
  }

  /** Returns the handle of this claim. */
  get(claim: Claim): LoneHandle | undefined {
    const known = this.#handles.get(claim.name);
    return known !== undefined && handleOf(known.claim) === handleOf(claim) ? known : undefined;
  }

  /** Notes that a handle is renewed. */
  renewed(claim: Claim): void {
    const known = this.get(claim);
    if (known === undefined) return;
    known.claim = claim;
    known.seen = undefined;
  }

  /** Notes that a handle was released, or does not wait. */
  forget(claim: Claim): void {
    if (this.get(claim) !== undefined) this.#handles.delete(claim.name);
  }

  /** Forgets all of them. */
  clear(): void {
    this.#handles = new ShortLivedMap();
  }

  /** Notes that the lock was revoked. */
  revoked(name: string): void {
    if (this.#handles.get(name)?.granted) this.#handles.delete(name);
  }

  /** Removes the handle that has this lock or waits for it, if there is one, and returns it: others come as well. */
  take(name: string): LoneHandle | undefined {
    const known = this.#handles.get(name);
    if (known === undefined) return undefined;
    this.#handles.delete(name);
    this.#shared.add(name);
    for (const oldest of this.#shared) {
      if (this.#shared.size <= REMEMBERED) break;
      this.#shared.delete(oldest);
    }
    return known;
  }

  /** Forgets handles that were never released. */
  #prune(): void {
    const now = this.#clock.now();
    for (const [name, handle] of this.#handles.entries()) {
      if (handle.seen === undefined) handle.seen = now;
      else if (elapsed(handle.seen, now) >= (handle.granted ? handle.claim.lease : FORGOTTEN_MS)) {
        this.#handles.delete(name);
      }
    }
    this.#pruneAt = Math.max(PRUNE_FROM, 2 * this.#handles.size);
  }
}
