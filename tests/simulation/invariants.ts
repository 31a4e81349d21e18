import type { Lock } from "../../src/lock.ts";
import type { Machine } from "./machine.ts";
import type { World } from "./world.ts";

/** What a run may rely on. */
export interface Assumptions {
  /** Whether clocks keep within the drift allowance and no node forgets a lock that is still trusted. */
  readonly exclusion: boolean;
  /**
   * Fences follow the order of acquires that are more than so many milliseconds apart: 0 as long as no counter is lost,
   * after that as far apart as the clocks are.
   */
  readonly fenceSlack: number;
  /** From when on nothing is in the way of the waiters any more. */
  readonly undisturbedFrom: number;
  /** For how long a lock that is waited for may then be nobody's, in milliseconds. */
  readonly longestGap: number;
}

/** An acquire that was called. */
export interface Call {
  readonly name: string;
  readonly machine: Machine;
  readonly calledAt: number;
  /** How many acquires had returned by then. */
  readonly after: number;
}

/** A lock that was granted and has not been given up. */
interface Hold {
  readonly lock: Lock;
  /** As the holder has it: whether it aborts by itself, although nobody asks the lock. */
  readonly signal: AbortSignal;
  readonly machine: Machine;
}

interface Grant {
  readonly fence: bigint;
  readonly at: number;
}

/** Watches a run, and knows what must never happen in it. */
export class Invariants {
  readonly #world: World;
  readonly #assumptions: Assumptions;
  readonly #holds = new Set<Hold>();
  /** In the order in which they returned. */
  readonly #grants = new Map<string, Grant[]>();
  readonly #violations: string[] = [];
  /** When each name was given up for the last time. */
  readonly #givenUp = new Map<string, number>();
  #longestGap = 0;

  constructor(world: World, assumptions: Assumptions) {
    this.#world = world;
    this.#assumptions = assumptions;
  }

  /** What has happened that must not, the first first. */
  get violations(): readonly string[] {
    return this.#violations;
  }

  /** How many locks were granted. */
  get granted(): number {
    return [...this.#grants.values()].reduce((sum, grants) => sum + grants.length, 0);
  }

  /** For how long a lock was nobody's while somebody waited for it undisturbed, at the most, in milliseconds. */
  get longestGap(): number {
    return this.#longestGap;
  }

  /** Notes that something happened that must not. */
  violate(what: string): void {
    this.#world.trace("!", what);
    this.#violations.push(what);
  }

  /** An acquire is called. */
  called(name: string, machine: Machine): Call {
    return { name, machine, calledAt: this.#world.now, after: this.#grants.get(name)?.length ?? 0 };
  }

  /** An acquire has returned a lock; gives what is to be run when that is given up. */
  got(call: Call, lock: Lock): () => void {
    const { name, machine } = call;
    this.#checkFence(call, lock.fence);
    this.#checkGap(call);
    const grants = this.#grants.get(name) ?? [];
    this.#grants.set(name, grants);
    grants.push({ fence: lock.fence, at: this.#world.now });
    const hold = { lock, signal: lock.signal, machine };
    this.#checkAlone(hold);
    this.#holds.add(hold);
    return () => {
      this.#holds.delete(hold);
      this.#givenUp.set(name, this.#world.now);
    };
  }

  /** A machine goes on after a pause: what it believes counts again. */
  resumed(machine: Machine): void {
    for (const hold of this.#holds) if (hold.machine === machine && hold.lock.held) this.#checkAlone(hold);
  }

  #checkFence({ name, calledAt, after }: Call, fence: bigint): void {
    const { fenceSlack } = this.#assumptions;
    for (const [place, grant] of (this.#grants.get(name) ?? []).entries()) {
      const before = fenceSlack === 0 ? place < after : grant.at + fenceSlack < calledAt;
      if (before && grant.fence > fence) this.violate(`fence ${fence} of ${name} follows ${grant.fence}`);
      if ((before || fenceSlack === 0) && grant.fence === fence) this.violate(`fence ${fence} of ${name} issued twice`);
    }
  }

  #checkGap({ name, calledAt }: Call): void {
    // Somebody shares it, perhaps for long.
    for (const { lock } of this.#holds) if (lock.name === name && lock.held) return;
    const { undisturbedFrom, longestGap } = this.#assumptions;
    const gap = this.#world.now - Math.max(undisturbedFrom, calledAt, this.#givenUp.get(name) ?? 0);
    this.#longestGap = Math.max(this.#longestGap, gap);
    if (gap > longestGap) this.violate(`${name} was waited for and nobody's for ${gap.toFixed(0)} ms`);
  }

  /** Nobody else on a machine that runs may believe that it holds the lock; and whoever does not was told by itself. */
  #checkAlone(holder: Hold): void {
    if (!this.#assumptions.exclusion) return;
    for (const hold of this.#holds) {
      if (hold === holder || hold.lock.name !== holder.lock.name || !hold.machine.awake) continue;
      if (hold.lock.mode === "shared" && holder.lock.mode === "shared") continue;
      const told = hold.signal.aborted || hold.machine.late;
      const names = `${holder.machine.name} (fence ${holder.lock.fence}) and ${hold.machine.name} (${hold.lock.fence})`;
      if (hold.lock.held) this.violate(`both hold ${holder.lock.name}: ${names}`);
      else if (!told) this.violate(`lost ${holder.lock.name} without a signal: ${names}`);
    }
  }
}
