import type { Clock } from "../../../src/time/clock.ts";
import type { Snapshot } from "../../../src/contract/store.ts";
import type { QuorumNode } from "../../../src/contract/quorum_node.ts";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import type { Machine } from "../kernel/machine.ts";
import type { World } from "../kernel/world.ts";

/** What a server keeps. */
export interface Kept {
  /** Lists holders and waiters. */
  query?(): Promise<Snapshot>;
  /** Revokes a lock. */
  evict?(name: string): Promise<number>;
}

/** What a server does with what it keeps; the signal aborts when the server goes down. */
export type Work<T, K extends Kept> = (kept: K, down: AbortSignal) => Promise<T>;

/** Makes the store of a server on the server's clock. */
export type MakeStore = (clock: Clock) => QuorumNode;

/** The store of a sound server. */
export const soundStore: MakeStore = (clock) => new MemoryStore(undefined, clock);

/** A server: a store on a machine of its own, which can go down, with its data or without. */
export class Node<K extends Kept = Kept> {
  readonly machine: Machine;
  readonly #world: World;
  readonly #make: () => K;
  #kept: K;
  /** Aborts when the server goes down. */
  #running = new AbortController();
  #up = true;
  #wiped = false;

  /** `make` makes what it keeps, empty. */
  constructor(world: World, machine: Machine, make: () => K) {
    this.#world = world;
    this.machine = machine;
    this.#make = make;
    this.#kept = make();
  }

  get up(): boolean {
    return this.#up;
  }

  /**
   * Does some work, at once or when it goes on after a pause; or not, when it is down or goes down before it is done.
   */
  receive<T>(work: Work<T, K>, reply: (value: T) => void, dropped: () => void): void {
    if (!this.#up) return dropped();
    const running = this.#running;
    this.machine.deliver(() => {
      if (running !== this.#running) return dropped();
      work(this.#kept, running.signal).then((value) => {
        if (running === this.#running) reply(value);
        else dropped();
      });
    });
  }

  /** Goes down, with or without keeping its data, for `ms` milliseconds. */
  crash(ms: number, wiped: boolean): void {
    if (!this.#up) return;
    this.#world.trace(this.machine.name, `down for ${ms.toFixed(0)} ms${wiped ? ", its data lost" : ""}`);
    this.#up = false;
    this.#wiped = wiped;
    this.#running.abort("down");
    this.#running = new AbortController();
    if (wiped) this.#kept = this.#make();
    this.#world.after(ms, () => {
      this.#world.trace(this.machine.name, "up again");
      this.#up = true;
    });
  }

  /** Whether it is up, or stays down for ever, with the data that it had before it went down. */
  get knows(): boolean {
    return this.#up || !this.#wiped;
  }

  /** Aborts when it goes down next. */
  get running(): AbortSignal {
    return this.#running.signal;
  }

  /** Loses one lock, as when somebody deletes its key; its counters and its queue stay. */
  lose(name: string): void {
    this.#world.trace(this.machine.name, `loses ${name}`);
    void this.#kept.evict!(name);
  }

  /** Returns its holders and waiters, by the ids that it knows; no message is sent for that. */
  async look(): Promise<Snapshot> {
    return await this.#kept.query!();
  }
}
