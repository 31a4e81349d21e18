import type { ServerTimers } from "../../../src/engine/mod.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Random } from "../kernel/random.ts";

/** How much later than it may a timer is over for others, in milliseconds. */
const LATER = [0.1, 600] as const;

/** Of so many timers the server forgets one, as if another one had taken its place. */
const FORGETS = 7;

/** Sends a request of a client, and resolves to the answer, if there is one. */
export type Send = <T>(what: string, work: () => T) => Promise<T>;

/** The timers of a server, which go by its clock. */
export class SimulatedTimers {
  readonly #machine: Machine;
  readonly #random: Random;
  /** By which factor they run shorter than they must. */
  readonly #part: number;
  readonly #ends = new Map<string, number | undefined>();

  constructor(machine: Machine, random: Random, part: number) {
    this.#machine = machine;
    this.#random = random;
    this.#part = part;
  }

  /** Returns what a client asks them through. */
  connect(send: Send): ServerTimers {
    return {
      start: (ms) => send("start a timer", () => this.#start(ms)),
      areOver: (names) => send("ask for timers", () => names.map((name) => this.#isOver(name))),
    };
  }

  #start(ms: number): string {
    const name = `t${this.#ends.size}`;
    const end = this.#machine.now().monotonic + ms * this.#part + this.#random.spread(...LATER);
    this.#ends.set(name, this.#ends.size % FORGETS < FORGETS - 1 ? end : undefined);
    return name;
  }

  #isOver(name: string): boolean | undefined {
    // What was never started is not there, as what is over.
    if (!this.#ends.has(name)) return true;
    const end = this.#ends.get(name);
    return end === undefined ? undefined : this.#machine.now().monotonic >= end;
  }
}
