import {
  type Attempt,
  type AttemptOptions,
  type Capability,
  type Claim,
  handleOf,
  type Meta,
  type Renewal,
  type Store,
} from "../../src/store.ts";
import { type Handle, runFor } from "./handles.ts";
import type { Machine } from "./machine.ts";
import { ObservedStore } from "./observed_store.ts";
import type { Random } from "./random.ts";
import type { Run } from "./run.ts";

/** What a process asks the store for under an id of its own. */
interface Ask {
  readonly handle: Handle;
  readonly store: Store;
}

/** A store as a cohort uses it: what the process asks for under an id of its own counts as a handle by itself. */
export class ObservedProcess implements Store {
  readonly #store: Store;
  readonly #client: Machine;
  readonly #run: Run;
  readonly #random: Random;
  readonly #asks = new Map<string, Ask>();
  readonly capabilities: readonly Capability[] | undefined;
  readonly drift: (lease: number) => number;

  constructor(store: Store, client: Machine, run: Run, random: Random) {
    this.#store = store;
    this.#client = client;
    this.#run = run;
    this.#random = random;
    this.capabilities = store.capabilities;
    this.drift = (lease) => store.drift(lease);
  }

  get closed(): boolean {
    return this.#store.closed === true;
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const { transitions, world } = this.#run;
    const ask = this.#ask(claim);
    if (ask === undefined) {
      const first = this.#run.handles.of(handleOf(claim))?.firstAskedAt.size === 0;
      if (first && claim.mode === "exclusive" && options.enqueue) {
        transitions.take("handle of a process queued by itself");
      }
      return await this.#onItsBehalf(claim, () => this.#store.attempt(claim, options));
    }
    const attempt = await ask.store.attempt(claim, options);
    if (attempt.granted) {
      transitions.take("process granted the lock");
      ask.handle.grantedAt ??= world.now;
    }
    return attempt;
  }

  async renew(claim: Claim): Promise<Renewal> {
    const ask = this.#asks.get(handleOf(claim));
    if (ask === undefined) return await this.#onItsBehalf(claim, () => this.#store.renew(claim));
    const renewal = await ask.store.renew(claim);
    if (renewal === "lost") this.#run.transitions.take("lock of a process lost");
    return renewal;
  }

  async release(claim: Claim): Promise<boolean> {
    const ask = this.#asks.get(handleOf(claim));
    if (ask === undefined) return await this.#onItsBehalf(claim, () => this.#store.release(claim));
    try {
      return await ask.store.release(claim);
    } finally {
      if (ask.handle.grantedAt !== undefined) this.#run.transitions.take("lock of a process given back");
      ask.handle.endedAt ??= this.#run.world.now;
    }
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const store = this.#asks.get(handleOf(claim))?.store ?? this.#store;
    return store.wakeup!(claim, signal);
  }

  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    const store = this.#asks.get(handleOf(claim))?.store ?? this.#store;
    return store.revocation!(claim, signal);
  }

  /** Returns what the process asks for under this id, unless it is that of a handle of its caller. */
  #ask(claim: Claim): Ask | undefined {
    const { handles, world } = this.#run;
    const id = handleOf(claim);
    const known = this.#asks.get(id);
    if (known !== undefined || handles.of(id) !== undefined) return known;
    const { name, mode, lease, fences: wish = 1 } = claim;
    const handle = handles.make({ name, mode, client: this.#client, lease, calledAt: world.now, wish }, true);
    const store = new ObservedStore(this.#store, handle, this.#run, this.#random.fork());
    const made = { handle, store };
    this.#asks.set(id, made);
    return made;
  }

  #onItsBehalf<T>(claim: Claim, run: () => T): T {
    return runFor(this.#run.handles.of(handleOf(claim)), run);
  }
}
