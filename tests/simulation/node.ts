import type { Clock } from "../../src/_clock.ts";
import type { QuorumNode } from "../../src/store.ts";
import { MemoryStore } from "../../src/stores/_memory_store.ts";
import type { Machine } from "./machine.ts";
import type { World } from "./world.ts";

/** What a server does with the store that it keeps; the signal aborts when the server goes down. */
export type Work<T> = (store: QuorumNode, down: AbortSignal) => Promise<T>;

/** Makes the store of a server on the server's clock. */
export type MakeStore = (clock: Clock) => QuorumNode;

/** The store of a sound server. */
export const soundStore: MakeStore = (clock) => new MemoryStore(undefined, clock);

/** A server: a store on a machine of its own, which can go down, with its data or without. */
export class Node {
  readonly machine: Machine;
  readonly #world: World;
  readonly #makeStore: MakeStore;
  #store: QuorumNode;
  /** Aborts when the server goes down. */
  #running = new AbortController();
  #up = true;

  constructor(world: World, machine: Machine, makeStore: MakeStore) {
    this.#world = world;
    this.machine = machine;
    this.#makeStore = makeStore;
    this.#store = makeStore(machine);
  }

  get up(): boolean {
    return this.#up;
  }

  /** Does some work, at once or when it goes on after a pause; or not, when it is down or goes down before it is done. */
  receive<T>(work: Work<T>, reply: (value: T) => void, dropped: () => void): void {
    if (!this.#up) return dropped();
    const running = this.#running;
    this.machine.deliver(() => {
      if (running !== this.#running) return dropped();
      work(this.#store, running.signal).then((value) => {
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
    this.#running.abort("down");
    this.#running = new AbortController();
    if (wiped) this.#store = this.#makeStore(this.machine);
    this.#world.after(ms, () => {
      this.#world.trace(this.machine.name, "up again");
      this.#up = true;
    });
  }

  /** Whether a stranger could take the lock: whether nobody holds it or waits for it. */
  async free(name: string): Promise<boolean> {
    const probe = { name, owner: "probe", mode: "exclusive", lease: 10 } as const;
    const { granted } = await this.#store.attempt(probe, { enqueue: false });
    await this.#store.release(probe);
    return granted;
  }
}
