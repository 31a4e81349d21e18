import type { Clock, Instant, Timer } from "../../src/_clock.ts";
import { sleep } from "../sleep.ts";
import type { World } from "./world.ts";

/** How a machine's clocks differ from true time. */
export interface Drift {
  /** How many milliseconds they count in a true one. */
  readonly rate: number;
  /** How far the wall clock is ahead, in milliseconds. */
  readonly skew: number;
}

/** What the wall clock of a machine without skew says at the beginning. */
const EPOCH = 1_700_000_000_000;

/**
 * A machine that runs one process, with clocks of its own. While it is paused nothing runs on it: what was due meanwhile
 * runs when it goes on, in its order.
 */
export class Machine implements Clock {
  readonly name: string;
  readonly #world: World;
  readonly #rate: number;
  #skew: number;
  #slept = 0;
  #pausedUntil = -Infinity;
  #dead = false;
  #pauses = 0;
  #pending = 0;
  #late = 0;
  readonly #parked: (() => void)[] = [];
  /** Told when it goes on after a pause, before anything else runs. */
  resumed: (() => void) | undefined;

  constructor(world: World, name: string, { rate, skew }: Drift) {
    this.#world = world;
    this.name = name;
    this.#rate = rate;
    this.#skew = skew;
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

  /** The timers and sleeps that have neither run nor been cancelled. */
  get pending(): number {
    return this.#pending;
  }

  /** Whether it has yet to do what was due while it was paused. */
  get late(): boolean {
    return this.#late > 0;
  }

  now(): Instant {
    const progress = this.#world.now * this.#rate;
    return { monotonic: progress - this.#slept, wall: EPOCH + progress + this.#skew };
  }

  timer(ms: number, run: () => void): Timer {
    let open = true;
    const close = () => {
      if (open) this.#pending--;
      open = false;
    };
    this.#pending++;
    // Real timers take whole milliseconds too, and a loop of timers that move no clock would never end.
    const cancel = this.#world.after(Math.max(1, Math.ceil(ms)) / this.#rate, () =>
      this.deliver(() => {
        if (!open) return;
        close();
        run();
      }));
    return {
      cancel: () => {
        cancel();
        close();
      },
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleep(this, ms, signal);
  }

  /** Runs something in its process: now, or as soon as it goes on; never when the process is dead. */
  deliver(run: () => void): void {
    if (this.#dead) return;
    if (this.awake) return run();
    this.#late++;
    this.#parked.push(run);
  }

  /** Stops the process for a while; with `suspended` the monotonic clock stands still as well. */
  pause(ms: number, suspended: boolean): void {
    if (this.#dead || !this.awake) return;
    this.#world.trace(this.name, `${suspended ? "suspended" : "paused"} for ${ms.toFixed(0)} ms`);
    this.#pauses++;
    this.#pausedUntil = this.#world.now + ms;
    this.#world.after(ms, () => this.#resume(suspended ? ms * this.#rate : 0));
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
    for (const run of this.#parked.splice(0)) {
      // Each as an event: what one of them settles is heard before the next one runs.
      this.#world.after(0, () => {
        this.#late--;
        this.deliver(run);
      });
    }
  }
}
