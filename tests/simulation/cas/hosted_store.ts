import { CAPABILITIES, type Capability, type Claim, type EvictOptions } from "../../../src/contract/store.ts";
import { type Attempt, type AttemptOptions, drift, type Renewal, type Store } from "../../../src/contract/store.ts";
import type { CasStore } from "../../../src/engine/store.ts";
import { Machine } from "../kernel/machine.ts";
import { USUAL } from "../kernel/messages.ts";
import type { Random } from "../kernel/random.ts";
import type { World } from "../kernel/world.ts";
import type { Waiting } from "./waiting.ts";

/** How its store object is to be: what a lock object of `durableObject()` says. */
export const HOSTED = { store: "one", graceMs: 3_000, retryAsleepMs: 60_000 } as const;

/** When a handle notices that the object has ended, in milliseconds: within the time that the next one waits for it. */
const NOTICED = [1, 2_500] as const;

/** For how long an object lives, in milliseconds. */
const LIFE = [500, 12_000] as const;

/** When an alarm has an object look for leases that are over, in milliseconds after it was started. */
const ALARM = [100, 10_000] as const;

/** A store object that is alive. */
interface Hosted {
  readonly machine: Machine;
  readonly store: CasStore;
  /** Called when it has ended. */
  readonly ended: Set<() => void>;
}

/** What a host needs. */
export interface Hosting {
  readonly world: World;
  readonly random: Random;
  readonly make: (machine: Machine) => CasStore;
  /** The lock that the objects keep. */
  readonly name: string;
  /** Called when an object has ended. */
  readonly ended: () => void;
}

/** Has one store object for the handles of all processes. It ends now and then, and the next call makes another one. */
export class Host {
  readonly #hosting: Hosting;
  #present: Hosted | undefined;
  #count = 0;
  /** When the present object was made. */
  startedAt = -Infinity;

  constructor(hosting: Hosting) {
    this.#hosting = hosting;
  }

  /** Lets objects end, until a time. */
  endThem(until: number): void {
    const { world, random } = this.#hosting;
    world.after(random.spread(...LIFE), () => {
      if (world.now > until) return;
      this.#end();
      this.endThem(until);
    });
  }

  /** Calls the object for a handle of a process. */
  call<T>(client: Machine, work: (store: CasStore) => Promise<T>): Promise<T> {
    const { world, random } = this.#hosting;
    const answer = (ms: number, run: () => void) => void world.after(ms, () => client.deliver(run));
    return new Promise((resolve, reject) => {
      world.after(random.between(...USUAL), () => {
        const { machine, store, ended } = this.#object;
        const lost = () => answer(random.spread(...NOTICED), () => reject(new Error("the object has ended")));
        ended.add(lost);
        const over = (run: () => void) => {
          if (ended.delete(lost)) answer(random.between(...USUAL), run);
        };
        machine.deliver(() => {
          work(store).then((value) => over(() => resolve(value)), (error) => over(() => reject(error)));
        });
      });
    });
  }

  get #object(): Hosted {
    if (this.#present !== undefined) return this.#present;
    const { world, random, make, name } = this.#hosting;
    const machine = new Machine(world, `o${this.#count++}`, { rate: 1, skew: 0, step: 1 });
    this.startedAt = world.now;
    const store = make(machine);
    world.after(random.spread(...ALARM), () => machine.deliver(() => void store.look(name).catch(() => {})));
    return this.#present = { machine, store, ended: new Set() };
  }

  #end(): void {
    const object = this.#present;
    if (object === undefined) return;
    this.#present = undefined;
    object.machine.kill();
    this.#hosting.ended();
    for (const run of object.ended) run();
  }
}

/** The store of a process whose handles ask an object over a network. */
export class HostedStore implements Store {
  readonly drift = drift;
  readonly capabilities: readonly Capability[] = CAPABILITIES.filter((capability) => capability !== "query");
  readonly #host: Host;
  readonly #client: Machine;
  readonly #waiting: Waiting;

  constructor(host: Host, client: Machine, waiting: Waiting) {
    this.#host = host;
    this.#client = client;
    this.#waiting = waiting;
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const go = () => this.#host.call(this.#client, (store) => store.attempt(claim, options));
    return this.#waiting.attempt(claim, this.#client, options, go);
  }

  renew(claim: Claim): Promise<Renewal> {
    return this.#host.call(this.#client, (store) => store.renew(claim));
  }

  release(claim: Claim): Promise<boolean> {
    this.#waiting.leaves(claim);
    return this.#host.call(this.#client, (store) => store.release(claim));
  }

  succeed(from: Claim, to: Claim): Promise<void> {
    this.#waiting.succeeds(from, to);
    return this.#host.call(this.#client, (store) => store.succeed(from, to));
  }

  forget(claim: Claim): void {
    this.#waiting.leaves(claim);
  }

  evict(name: string, options?: EvictOptions): Promise<number> {
    return this.#host.call(this.#client, (store) => store.evict(name, options));
  }

  async wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    this.#waiting.sleeps(claim);
    const over = new AbortController();
    const asleep = this.#host.call(this.#client, async (store) => {
      // One that only an object before this one has known attempts.
      if (store.knows(claim)) await store.wakeup(claim, over.signal);
    }).catch(() => {});
    await Promise.race([
      asleep,
      new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      }),
    ]);
    // The object notices that its caller has gone.
    over.abort();
    this.#waiting.wakes(claim);
  }
}
