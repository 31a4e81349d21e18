import { setImmediate } from "node:timers/promises";
import type { Timer } from "../../../src/time/clock.ts";
import type { Random } from "../kernel/random.ts";
import { type Due, Upcoming } from "../kernel/upcoming.ts";

/** How many microtasks lie between two things of one turn, at most. */
export const HOPS = 12;

/** How likely something that is due joins the turn that is about to begin. */
const JOINS = 0.7;

/** A machine: while it is stalled nothing that is due on it happens. */
export interface Host {
  readonly stalledUntil: number;
}

interface Event extends Due {
  at: number;
  readonly run: () => void;
  readonly host: Host | undefined;
  /** Whether it is a timer, which runs before all else in a turn. */
  readonly timer: boolean;
  cancelled: boolean;
}

/**
 * Virtual time, in turns of the event loop. What is due at the same moment happens in one turn or in several. Within a
 * turn, replies and what tasks do happen at random microtasks, so that they meet each other half done. Timers do not:
 * an event loop runs them before all else.
 */
export class Turns {
  readonly #random: Random;
  #now = 1_000;
  #number = 0;
  readonly #upcoming = new Upcoming<Event>();
  #hop = 0;
  #turn = 0;
  #running = false;
  /** What happens in the present turn, by the microtask. */
  readonly #agenda = new Map<number, (() => void)[]>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Milliseconds. */
  get now(): number {
    return this.#now;
  }

  /** How many turns there were. */
  get turn(): number {
    return this.#turn;
  }

  /** Which microtask of the present turn this is. */
  get hop(): number {
    return this.#hop;
  }

  /** Runs something at a time, in a turn of its own or with others. */
  at(time: number, run: () => void, { host, timer = false }: { host?: Host; timer?: boolean } = {}): Timer {
    const due: Event = { at: Math.max(time, this.#now), number: this.#number++, run, host, timer, cancelled: false };
    this.#upcoming.add(due);
    return { cancel: () => void (due.cancelled = true) };
  }

  /**
   * Runs something in the present turn, a few microtasks from now, by default a random number of them; between two
   * turns, in the next one.
   */
  soon(run: () => void, hops: number = this.#hops()): void {
    if (!this.#running) return void this.at(this.#now, run);
    const hop = this.#hop + hops;
    const others = this.#agenda.get(hop);
    if (others === undefined) this.#agenda.set(hop, [run]);
    else others.push(run);
  }

  /** Goes on for one turn. Resolves to whether there was anything due before that time. */
  async next(until: number): Promise<boolean> {
    const due = this.#takeDue(until);
    if (due.length === 0) {
      this.#now = Math.max(this.#now, until);
      return false;
    }
    this.#turn++;
    this.#hop = 0;
    this.#running = true;
    for (const { run, timer } of due) this.soon(run, timer ? 0 : this.#hops());
    while (this.#agenda.size > 0) {
      while (this.#agenda.size > 0) {
        const now = this.#agenda.get(this.#hop) ?? [];
        // What is added meanwhile for this microtask is run as well.
        for (const run of now) run();
        this.#agenda.delete(this.#hop);
        this.#hop++;
        await undefined;
      }
      await setImmediate();
    }
    this.#running = false;
    return true;
  }

  /** Takes what happens in the next turn: some of that which is due at the next moment, timers first. */
  #takeDue(until: number): Event[] {
    const upcoming = this.#upcoming;
    for (let first = upcoming.next; first !== undefined && first.at <= until; first = upcoming.next) {
      this.#now = Math.max(this.#now, first.at);
      const ready = this.#takeReady();
      if (ready.length === 0) continue;
      const lead = ready.splice(this.#random.integer(0, ready.length - 1), 1)[0]!;
      const joined = [lead];
      for (const due of ready) {
        const joins = this.#random.chance(JOINS) && (lead.timer || !due.timer);
        if (joins) joined.push(due);
        else upcoming.add(due);
      }
      return joined.sort((a, b) => Number(b.timer) - Number(a.timer));
    }
    return [];
  }

  /** Takes what is due now, but for that of machines which are stalled: it is due when they go on. */
  #takeReady(): Event[] {
    const ready: Event[] = [];
    for (let due = this.#upcoming.next; due !== undefined && due.at <= this.#now; due = this.#upcoming.next) {
      this.#upcoming.take();
      if (due.cancelled) continue;
      if (due.host === undefined || due.host.stalledUntil <= this.#now) ready.push(due);
      else {
        due.at = due.host.stalledUntil;
        this.#upcoming.add(due);
      }
    }
    return ready;
  }

  #hops(): number {
    return this.#random.chance(1 / 3) ? 0 : this.#random.integer(0, HOPS);
  }
}
