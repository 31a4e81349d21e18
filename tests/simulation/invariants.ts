import type { Instant } from "../../src/time/clock.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { excluded, fenceOrder, type Fences, type Holder } from "../verification/exclusion.ts";
import type { Machine } from "./kernel/machine.ts";
import type { Random } from "./kernel/random.ts";
import type { World } from "./kernel/world.ts";

/** What a run may rely on. */
export interface Assumptions {
  /** Whether clocks keep within the drift allowance and no node forgets a lock that is still trusted. */
  readonly exclusion: boolean;
  /**
   * Fences follow the order of acquires that are more than so many milliseconds apart: 0 as long as no counter is lost,
   * after that as far apart as the clocks are, and the ends of blocks ahead of them.
   */
  readonly fenceSlack: number;
  /** Until when something was in the way of the waiters. */
  readonly disturbedUntil: () => number;
  /** For how long a store reserves a lock. Who claims it has it there for no less, however short the lease is. */
  readonly reservation: number;
  /** For how long a lock that is waited for on a machine may then be nobody's, in milliseconds. */
  readonly longestGap: (machine: Machine, last: Ended | undefined) => number;
}

/** An acquire that was called. */
export interface Call {
  readonly name: string;
  readonly machine: Machine;
  readonly calledAt: number;
  /** How many acquires had returned by then. */
  readonly after: number;
}

/** How a lock came to be nobody's: where, when, and whether its lease has ended. */
export interface Ended {
  readonly machine: Machine;
  readonly at: number;
  readonly lapsed: boolean;
  /** For how long after that the store may keep the lock for a handle whose lease had ended, in milliseconds. */
  readonly kept: number;
}

/** A lock that was granted and has not been released. */
interface HeldLock extends Holder {
  readonly lock: Lock;
  /** As the holder has it: whether it aborts by itself, although nobody asks the lock. */
  readonly signal: AbortSignal;
  readonly machine: Machine;
  readonly grantedAt: number;
  /** How long it was to last by each clock of its machine when that was paused. */
  left: { readonly ms: Instant; readonly at: Instant } | undefined;
}

/** A block of fences that was granted; of one, mostly. All handles of an owner have the same one. */
interface Grant extends Fences {
  readonly at: number;
  readonly owner: string | undefined;
}

/** Watches a run, and knows what must never happen in it. */
export class Invariants {
  readonly #world: World;
  readonly #assumptions: Assumptions;
  readonly #held = new Set<HeldLock>();
  /** In the order in which they returned. */
  readonly #grants = new Map<string, Grant[]>();
  readonly #violations: string[] = [];
  /** When a lock of each name was released, or lost, for the last time. */
  readonly #givenUp = new Map<string, Ended>();
  /** The fences of each name whose holders were revoked: their processes may hand them on until they are told. */
  readonly #revoked = new Map<string, Required<Fences>[]>();
  #longestGap = 0;
  #setBack = 0;

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

  /** Notes something that must not happen. */
  violate(what: string): void {
    this.#world.trace("!", what);
    this.#violations.push(what);
  }

  /** Notes that an acquire is called. */
  called(name: string, machine: Machine): Call {
    return { name, machine, calledAt: this.#world.now, after: this.#grants.get(name)?.length ?? 0 };
  }

  /**
   * Notes that an acquire has returned a lock, with its fence and perhaps those that follow it; returns what is to be
   * run when that is released.
   */
  got(call: Call, lock: Lock, fences: number, { kind = lock.mode, owner }: Holder = {}): () => void {
    const { name, machine } = call;
    const grant = { fence: lock.fence, last: lock.fence + BigInt(fences) - 1n, at: this.#world.now, owner };
    this.#checkFences(call, grant);
    this.#checkGap(call);
    const grants = this.#grants.get(name) ?? [];
    this.#grants.set(name, grants);
    grants.push(grant);
    const hold: HeldLock = { lock, kind, owner, signal: lock.signal, machine, grantedAt: grant.at, left: undefined };
    this.#checkAlone(hold);
    if (!lock.held) this.violate(`${machine.name} gets ${name}, which is not held`);
    this.#held.add(hold);
    const ended = (lapsed: boolean) => {
      this.#givenUp.set(name, { machine, at: this.#world.now, lapsed, kept: this.#kept(name) });
    };
    hold.signal.addEventListener("abort", () => this.#held.has(hold) && ended(true));
    return () => {
      this.#held.delete(hold);
      if (!hold.signal.aborted) ended(false);
      if (lock.held) this.violate(`${machine.name} holds ${name}, which it has released`);
    };
  }

  /** The locks that a machine holds, and was not told to have lost, nor has. */
  heldOn(machine: Machine): Lock[] {
    const locks = [...this.#held].filter((hold) => hold.machine === machine).map(({ lock }) => lock);
    return locks.filter((lock) => lock.held && !this.#isRevoked(lock.name, lock.fence));
  }

  /**
   * Judges what a machine believes when it is paused and goes on. Chance says whether its locks are read first then.
   */
  judge(machine: Machine, chance: Pick<Random, "chance">): void {
    machine.paused = () => this.#paused(machine);
    machine.resumed = () => this.#resumed(machine, chance.chance(0.5));
    machine.caughtUp = () => this.#caughtUp(machine);
  }

  /** Checks that no timers are left on the machines that live. */
  checkTimers(machines: readonly Machine[]): void {
    for (const { name, dead, pending } of machines) {
      if (!dead && pending > 0) this.violate(`${pending} timers are left behind on ${name}`);
    }
  }

  /** Notes that a machine is paused: from here on its locks last as long as they do now. */
  #paused(machine: Machine): void {
    const at = machine.now();
    for (const hold of this.#held) {
      if (hold.machine !== machine || !hold.lock.held) continue;
      const leftBy = (clock: keyof Instant) => machine.byOne(clock, () => hold.lock.remaining());
      hold.left = { ms: { monotonic: leftBy("monotonic"), wall: leftBy("wall") }, at };
    }
  }

  /**
   * Notes that a machine goes on after a pause: what it believes counts again. A lock that is read looks at its
   * deadline, so `asked` says whether that is done before anything else runs.
   */
  #resumed(machine: Machine, asked: boolean): void {
    for (const hold of this.#held) {
      if (!asked || hold.machine !== machine) continue;
      hold.left = undefined;
      if (hold.lock.held) this.#checkAlone(hold);
    }
  }

  /** Notes that a machine has done what was due while it was paused: no late answer may have restored a lost lock. */
  #caughtUp(machine: Machine): void {
    const now = machine.now();
    for (const hold of this.#held) {
      if (hold.machine !== machine || hold.left === undefined || machine.late || !machine.awake) continue;
      const { at, ms } = hold.left;
      // By the clock that has moved further since the lease began, which is not the one that did so during the pause.
      const over = Math.max(now.monotonic - at.monotonic - ms.monotonic, now.wall - at.wall - ms.wall);
      hold.left = undefined;
      if (over > 0 && hold.lock.held) {
        this.violate(`${machine.name} believes in ${hold.lock.name} though its lease ended ${over.toFixed(0)} ms ago`);
      }
      if (hold.lock.held) this.#checkAlone(hold);
    }
  }

  /**
   * Notes that the holders with some fences were revoked. They are told so in so many milliseconds, where nothing is in
   * the way of that.
   */
  revoked(name: string, fences: Required<Fences>, within: number): void {
    this.#revoked.set(name, [...this.#revoked.get(name) ?? [], fences]);
    const revokedAt = this.#world.now;
    const check = () => {
      const since = Math.max(revokedAt, this.#assumptions.disturbedUntil());
      const ms = this.#world.now - since;
      if (ms < within) return void this.#world.after(within - ms + 1, check);
      for (const { lock, machine } of this.#held) {
        if (lock.name !== name || !includes(fences, lock.fence) || !lock.held || !machine.awake) continue;
        this.violate(`${machine.name} is not told that ${name} was taken away ${ms.toFixed(0)} ms ago`);
      }
    };
    this.#world.after(within, check);
  }

  #isRevoked(name: string, fence: bigint | number): boolean {
    return this.#revoked.get(name)?.some((fences) => includes(fences, fence)) ?? false;
  }

  /** Checks that no fence is in two blocks, and that a block is above those of acquires that had returned before. */
  #checkFences({ name, calledAt, after }: Call, next: Grant): void {
    const { fenceSlack } = this.#assumptions;
    if (this.#isRevoked(name, next.fence)) return;
    for (const [place, grant] of (this.#grants.get(name) ?? []).entries()) {
      // An owner that has the lock already has its fence again, whoever was granted the lock meanwhile.
      if (next.owner !== undefined && (next.owner === grant.owner || next.fence < grant.fence)) continue;
      const before = fenceSlack === 0 ? place < after : grant.at + fenceSlack < calledAt;
      const order = fenceOrder(grant, next);
      if (before && order === "falls") this.violate(`fence ${next.fence} of ${name} follows ${grant.fence}`);
      if ((before || fenceSlack === 0) && order === "repeats") {
        this.violate(`fence ${next.fence > grant.fence ? next.fence : grant.fence} of ${name} issued twice`);
      }
    }
  }

  /** Notes that the clock of a node was set back: what those who died had there lasts so many milliseconds longer. */
  clockSetBack(ms: number): void {
    this.#setBack += ms;
  }

  /** Returns for how long the store may keep a lock for handles whose leases have ended, and that are not released. */
  #kept(name: string): number {
    const lapsed = [...this.#held].filter(({ lock, signal }) => lock.name === name && signal.aborted);
    const reservedUntil = lapsed.map(({ grantedAt }) => grantedAt + this.#assumptions.reservation);
    return Math.max(0, ...reservedUntil.map((until) => until - this.#world.now));
  }

  #checkGap({ name, calledAt, machine }: Call): void {
    // Somebody shares it, perhaps for long.
    for (const { lock } of this.#held) if (lock.name === name && lock.held) return;
    const { disturbedUntil, longestGap } = this.#assumptions;
    const last = this.#givenUp.get(name);
    const gap = this.#world.now - Math.max(disturbedUntil(), calledAt, last?.at ?? 0);
    this.#longestGap = Math.max(this.#longestGap, gap);
    if (gap > longestGap(machine, last) + this.#setBack) {
      this.violate(`${name} was waited for and nobody's for ${gap.toFixed(0)} ms`);
    }
  }

  /**
   * Checks that nobody else on a running machine believes that it holds the lock, and that a holder is notified of a
   * loss.
   */
  #checkAlone(holder: HeldLock): void {
    const { name, fence } = holder.lock;
    if (!this.#assumptions.exclusion || this.#isRevoked(name, fence)) return;
    const others = [...this.#held].filter((hold) => {
      return hold !== holder && hold.lock.name === name && hold.machine.awake &&
        !this.#isRevoked(name, hold.lock.fence);
    });
    const namesOf = ({ machine, lock }: HeldLock) =>
      `${holder.machine.name} (fence ${fence}) and ${machine.name} (${lock.fence})`;
    for (const hold of excluded(holder, others.filter(({ lock }) => lock.held))) {
      this.violate(`both hold ${name}: ${namesOf(hold)}`);
    }
    for (const hold of others) {
      const notified = hold.signal.aborted || hold.machine.late;
      if (hold.lock.held || notified || excluded(holder, [hold]).length === 0) continue;
      this.violate(`lost ${name} without a signal: ${namesOf(hold)}`);
    }
  }
}

function includes({ fence, last }: Required<Fences>, each: bigint | number): boolean {
  return each >= fence && each <= last;
}
