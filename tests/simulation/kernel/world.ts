import { setImmediate } from "node:timers";
import type { Machine } from "./machine.ts";

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  cancelled: boolean;
}

/**
 * True time, and everything that happens in it, one event after the other. Between two events all that waits for
 * nothing but promises runs; so a run is the same each time.
 */
export class World {
  #now = 0;
  #order = 0;
  #events = 0;
  /** A binary heap: the next event first. */
  readonly #queue: Event[] = [];
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
    const event = { at: Math.max(this.#now, at), order: this.#order++, run, cancelled: false };
    this.#push(event);
    return () => event.cancelled = true;
  }

  /** Goes on until something is so, or until nothing can make it so, or a time has come; returns whether it is so. */
  async run(until: () => boolean, limit: number): Promise<boolean> {
    await drained();
    while (!until()) {
      const event = this.#queue[0];
      if (event === undefined || event.at > limit) {
        this.#now = limit;
        return false;
      }
      this.#pop();
      if (event.cancelled) continue;
      this.#now = event.at;
      this.#events++;
      this.#machine = undefined;
      event.run();
      await drained();
    }
    return true;
  }

  #push(event: Event): void {
    const queue = this.#queue;
    let place = queue.push(event) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!sooner(event, queue[parent]!)) break;
      queue[place] = queue[parent]!;
      place = parent;
    }
    queue[place] = event;
  }

  #pop(): void {
    const queue = this.#queue;
    const event = queue.pop()!;
    if (queue.length === 0) return;
    let place = 0;
    for (let child = 1; child < queue.length; child = 2 * place + 1) {
      if (child + 1 < queue.length && sooner(queue[child + 1]!, queue[child]!)) child++;
      if (!sooner(queue[child]!, event)) break;
      queue[place] = queue[child]!;
      place = child;
    }
    queue[place] = event;
  }
}

function sooner(one: Event, other: Event): boolean {
  return one.at < other.at || one.at === other.at && one.order < other.order;
}

/** Resolves when no promise has anything left to do: in the event loop's next turn. */
function drained(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
