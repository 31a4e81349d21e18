import { setImmediate } from "node:timers/promises";
import type { Clock, Instant, Timer } from "../src/_clock.ts";
import { sleep } from "./sleep.ts";

interface Alarm {
  readonly due: number;
  readonly run: () => void;
}

/** A clock that stands still until a test moves it. Its timers go by the monotonic clock alone: no timer hears less. */
export class VirtualClock implements Clock {
  #monotonic = 1_000;
  #wall = 1_700_000_000_000;
  readonly #alarms = new Set<Alarm>();

  now(): Instant {
    return { monotonic: this.#monotonic, wall: this.#wall };
  }

  /** The timers and sleeps that have neither run nor been cancelled. */
  get pending(): number {
    return this.#alarms.size;
  }

  timer(ms: number, run: () => void, from: Instant = this.now()): Timer {
    // Real timers take whole milliseconds too, and a loop of timers that move no clock would never end.
    const alarm = { due: from.monotonic + Math.max(0, Math.ceil(ms)), run };
    this.#alarms.add(alarm);
    return { cancel: () => this.#alarms.delete(alarm) };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleep(this, ms, signal);
  }

  /** Moves both clocks on, and runs what falls due on the way at its own moment, one after the other. */
  async advance(ms: number): Promise<void> {
    const until = this.#monotonic + ms;
    await settled();
    for (let alarm = this.#next(until); alarm !== undefined; alarm = this.#next(until)) {
      this.stall(Math.max(0, alarm.due - this.#monotonic));
      this.#alarms.delete(alarm);
      alarm.run();
      await settled();
    }
    this.stall(until - this.#monotonic);
  }

  /** Moves both clocks on while nothing runs, as in a process that is stopped: timers run late, with `advance`. */
  stall(ms: number): void {
    this.#monotonic += ms;
    this.#wall += ms;
  }

  /** Sets the wall clock, forward or back. That is also how a suspended machine wakes up. */
  setWall(by: number): void {
    this.#wall += by;
  }

  #next(until: number): Alarm | undefined {
    let next: Alarm | undefined;
    for (const alarm of this.#alarms) {
      if (alarm.due <= until && (next === undefined || alarm.due < next.due)) next = alarm;
    }
    return next;
  }
}

/** Resolves when all that waits for nothing but promises has run. */
export async function settled(): Promise<void> {
  await setImmediate();
}
