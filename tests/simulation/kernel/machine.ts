import { AsyncLocalStorage } from "node:async_hooks";
import type { Instant } from "../../../src/time/clock.ts";
import { SimulatedClock } from "./simulated_clock.ts";
import type { World } from "./world.ts";

/** How a machine's clocks differ from true time. */
export interface Drift {
  /** How many milliseconds they count in a true one. */
  readonly rate: number;
  /** How far the wall clock is ahead, in milliseconds. */
  readonly skew: number;
  /** How far apart the readings of the wall clock are, in milliseconds. */
  readonly step: number;
}

/** How a process is stopped. */
export interface Pause {
  /** For how many milliseconds. */
  readonly ms: number;
  /** Whether the monotonic clock stands still as well. */
  readonly suspended?: boolean;
  /** What runs first when it goes on: late timers or answers that lie unread; by default what was due first. */
  readonly first?: Work | undefined;
}

/** What a process has to do: a timer to run, or a message to read. */
export type Work = "timer" | "message";

interface Deferred {
  readonly run: () => void;
  readonly work: Work;
}

/** What the wall clock of a machine without skew says at the beginning. */
const EPOCH = 1_700_000_000_000;

/**
 * A machine that runs one process, with clocks of its own. While it is paused nothing runs on it: what was due
 * meanwhile runs when it goes on.
 */
export class Machine extends SimulatedClock {
  readonly name: string;
  readonly #world: World;
  /** How many milliseconds its clocks count in a true one. */
  readonly rate: number;
  #skew: number;
  readonly #step: number;
  #slept = 0;
  #pausedUntil = -Infinity;
  #dead = false;
  #pauses = 0;
  #late = 0;
  #first: Work | undefined;
  /** The clock that is read alone, if one is. */
  #alone: keyof Instant | undefined;
  readonly #deferred: Deferred[] = [];
  /** Called when it is paused. */
  paused: (() => void) | undefined;
  /** Called when it goes on after a pause, before anything else runs. */
  resumed: (() => void) | undefined;
  /** Called when it has done what was due meanwhile. */
  caughtUp: (() => void) | undefined;

  constructor(world: World, name: string, { rate, skew, step }: Drift) {
    super();
    this.#world = world;
    this.name = name;
    this.rate = rate;
    this.#skew = skew;
    this.#step = step;
  }

  /** Whether its process can run at this moment. */
  get awake(): boolean {
    return !this.#dead && this.#world.now >= this.#pausedUntil;
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** How often it was paused. */
  get pauses(): number {
    return this.#pauses;
  }

  /** Whether it has yet to do what was due while it was paused. */
  get late(): boolean {
    return this.#late > 0;
  }

  override now(): Instant {
    const progress = this.#world.now * this.rate;
    const wall = Math.floor((EPOCH + progress + this.#skew) / this.#step) * this.#step;
    return {
      monotonic: this.#alone === "wall" ? -Infinity : progress - this.#slept,
      wall: this.#alone === "monotonic" ? -Infinity : wall,
    };
  }

  /** Returns what a function reads if only one of the clocks goes on. */
  byOne<T>(clock: keyof Instant, read: () => T): T {
    this.#alone = clock;
    try {
      return read();
    } finally {
      this.#alone = undefined;
    }
  }

  protected override after(ms: number, run: () => void): () => void {
    // As a timer of the runtime, on whose behalf it was made.
    const inContext = AsyncLocalStorage.snapshot();
    // Real timers take whole milliseconds too, and a loop of timers that move no clock would never end.
    const due = Math.max(1, Math.ceil(ms)) / this.rate;
    return this.#world.after(due, () => this.deliver(() => inContext(run), "timer"));
  }

  /** Runs something in its process: now, or as soon as it goes on; never when the process is dead. */
  deliver(run: () => void, work: Work = "message"): void {
    if (this.#dead) return;
    if (this.awake) return this.#world.on(this, run);
    this.#late++;
    this.#deferred.push({ run, work });
  }

  /** Stops the process for a while. */
  pause({ ms, suspended = false, first }: Pause): void {
    if (this.#dead || !this.awake) return;
    const order = first === undefined ? "" : `, then ${first}s first`;
    this.#world.trace(this.name, `${suspended ? "suspended" : "paused"} for ${ms.toFixed(0)} ms${order}`);
    this.paused?.();
    this.#pauses++;
    this.#first = first;
    this.#pausedUntil = this.#world.now + ms;
    this.#world.after(ms, () => this.#resume(suspended ? ms * this.rate : 0));
  }

  /** Sets the wall clock, forward or back. */
  setWall(by: number): void {
    this.#world.trace(this.name, `wall clock set by ${by.toFixed(0)} ms`);
    this.#skew += by;
  }

  /** Ends the process for good. */
  kill(): void {
    this.#world.trace(this.name, "killed");
    this.#dead = true;
  }

  #resume(slept: number): void {
    if (this.#dead) return;
    this.#slept += slept;
    this.#world.trace(this.name, "goes on");
    this.resumed?.();
    const deferred = this.#deferred.splice(0);
    const first = this.#first;
    if (first !== undefined) deferred.sort((a, b) => Number(b.work === first) - Number(a.work === first));
    for (const { run, work } of deferred) {
      // Each as an event: what one of them settles is handled before the next one runs.
      this.#world.after(0, () => {
        this.#late--;
        this.deliver(run, work);
      });
    }
    this.#world.after(0, () => this.caughtUp?.());
  }
}
