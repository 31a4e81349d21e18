import { ProcessClock } from "../../support/process_clock.ts";

/**
 * The wall clocks of the worker processes. They show the true time while a process starts: what a process writes down
 * is dated by the clock that it has found then, see `now()` of the history.
 */
export class WorkerClocks implements Disposable {
  readonly #first: ProcessClock;
  /** Whether all processes have the same clock, as on one machine. */
  readonly #shared: boolean;
  readonly #clocks = new Map<number, ProcessClock>();
  readonly #starts = new Set<Promise<unknown>>();
  #setting: Promise<unknown> | undefined;

  private constructor(first: ProcessClock, shared: boolean) {
    this.#first = first;
    this.#shared = shared;
  }

  /** Makes the clocks of processes on one machine, or on one machine each. */
  static async make(options: { readonly shared: boolean }): Promise<WorkerClocks> {
    return new WorkerClocks(await ProcessClock.make(), options.shared);
  }

  /** Returns what the process at a place must find in its environment. */
  env(place: number): Record<string, string> {
    return this.#at(place).env;
  }

  /** Starts a process, during which no clock is set. */
  async keep<T>(start: () => Promise<T>): Promise<T> {
    while (this.#setting !== undefined) await this.#setting;
    const starting = start();
    this.#starts.add(starting);
    try {
      return await starting;
    } finally {
      this.#starts.delete(starting);
    }
  }

  /** Sets each clock by so many milliseconds while something lasts; after that they show the true time again. */
  async set(shifts: ReadonlyMap<number, number>, during: () => Promise<void>): Promise<void> {
    while (this.#starts.size > 0) await Promise.allSettled(this.#starts);
    const clocks = new Map([...shifts].map(([place, ms]) => [this.#at(place), ms]));
    for (const [clock, ms] of clocks) clock.shift(ms);
    const lasting = during();
    this.#setting = lasting.catch(() => {});
    try {
      await lasting;
    } finally {
      for (const clock of clocks.keys()) clock.shift(0);
      this.#setting = undefined;
    }
  }

  [Symbol.dispose](): void {
    this.#first[Symbol.dispose]();
  }

  #at(place: number): ProcessClock {
    if (this.#shared) return this.#first;
    const clock = this.#clocks.get(place) ?? this.#first.another();
    this.#clocks.set(place, clock);
    return clock;
  }
}
