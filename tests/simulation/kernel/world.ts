import { setImmediate } from "node:timers";
import type { Machine } from "./machine.ts";
import { type Due, Upcoming } from "./upcoming.ts";

interface Event extends Due {
  readonly run: () => void;
  cancelled: boolean;
}

/**
 * True time, and everything that happens in it, one event after the other. Between two events all that waits for
 * nothing but promises runs; so a run is the same each time.
 */
export class World {
  #now = 0;
  #number = 0;
  #events = 0;
  readonly #upcoming = new Upcoming<Event>();
  readonly #log: ((line: string) => void) | undefined;
  readonly #labels = new Map<string, string>();
  #machine: Machine | undefined;

  /** Makes a world that passes each line of its log to `log`. */
  constructor(log?: (line: string) => void) {
    this.#log = log;
  }

  /** Milliseconds since the beginning. */
  get now(): number {
    return this.#now;
  }

  /** How many events there have been. */
  get events(): number {
    return this.#events;
  }

  /** Whether events are logged, which takes longer than the events themselves. */
  get logs(): boolean {
    return this.#log !== undefined;
  }

  /** The machine whose process runs: an event, and all that it settles, belong to one of them at the most. */
  get machine(): Machine | undefined {
    return this.#machine;
  }

  /** Runs something in the process of a machine, in this event. */
  on(machine: Machine, run: () => void): void {
    this.#machine = machine;
    run();
  }

  /** Logs what happens at this moment. */
  trace(who: string, what: string): void {
    this.#log?.(`${this.#now.toFixed(3).padStart(11)}  ${who.padEnd(4)} ${what}`);
  }

  /** Returns a short name for a random id, the same in every run of a seed. */
  label(id: string): string {
    let label = this.#labels.get(id);
    if (label === undefined) this.#labels.set(id, label = `o${this.#labels.size + 1}`);
    return label;
  }

  /** Lets something happen in `ms` milliseconds; returns what prevents it. */
  after(ms: number, run: () => void): () => void {
    return this.at(this.#now + ms, run);
  }

  /** Lets something happen at a time, or now if that has passed; returns what prevents it. */
  at(at: number, run: () => void): () => void {
    const event = { at: Math.max(this.#now, at), number: this.#number++, run, cancelled: false };
    this.#upcoming.add(event);
    return () => event.cancelled = true;
  }

  /** Goes on until something is so, or until nothing can make it so, or a time has come; returns whether it is so. */
  async run(until: () => boolean, limit: number): Promise<boolean> {
    await drained();
    while (!until()) {
      const event = this.#upcoming.next;
      if (event === undefined || event.at > limit) {
        this.#now = limit;
        return false;
      }
      this.#upcoming.take();
      if (event.cancelled) continue;
      this.#now = event.at;
      this.#events++;
      this.#machine = undefined;
      event.run();
      await drained();
    }
    return true;
  }
}

/** Resolves when no promise has anything left to do: in the event loop's next turn. */
function drained(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
