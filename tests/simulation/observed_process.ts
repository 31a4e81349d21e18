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
import { checkFences, checkReleased } from "./observed_store.ts";
import type { Run } from "./run.ts";

/** A store as a cohort uses it: a request may be made by another handle than the one whose id it has. */
export class ObservedProcess implements Store {
  readonly #store: Store;
  readonly #run: Run;
  readonly capabilities: readonly Capability[] | undefined;
  readonly drift: (lease: number) => number;
  readonly succeed?: (from: Claim, to: Claim) => Promise<void>;

  constructor(store: Store, run: Run) {
    this.#store = store;
    this.#run = run;
    this.capabilities = store.capabilities;
    this.drift = (lease) => store.drift(lease);
    if (store.succeed === undefined) return;
    this.succeed = (from, to) => {
      run.transitions.take("place of a handle given to another one");
      return this.#onItsBehalf(from, () => store.succeed!(from, to));
    };
  }

  get closed(): boolean {
    return this.#store.closed === true;
  }

  async attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    const attempt = await this.#onItsBehalf(claim, () => this.#store.attempt(claim, options));
    if (!attempt.granted) return attempt;
    const { fences = 1 } = claim;
    const handle = this.#of(claim);
    if (handle !== undefined) checkFences(this.#run, handle, attempt, fences);
    if (fences > 1) this.#run.transitions.take("process granted the lock");
    return attempt;
  }

  async renew(claim: Claim): Promise<Renewal> {
    const renewal = await this.#onItsBehalf(claim, () => this.#store.renew(claim));
    if (renewal === "lost") this.#run.transitions.take("lock of a process lost");
    return renewal;
  }

  async release(claim: Claim): Promise<boolean> {
    const handle = this.#of(claim);
    const releasing = this.#onItsBehalf(claim, () => this.#store.release(claim));
    if (handle !== undefined) checkReleased(this.#run, handle);
    const released = await releasing;
    if (released && handle?.grantedAt !== undefined) this.#run.transitions.take("lock of a process given back");
    return released;
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    return this.#store.wakeup!(claim, signal);
  }

  /** Rejects where the store cannot notify. */
  revocation(claim: Claim, signal: AbortSignal): Promise<Meta | void> {
    return this.#store.revocation?.(claim, signal) ?? Promise.reject(new Error("no word of evictions"));
  }

  forget(claim: Claim): void {
    this.#store.forget?.(claim);
  }

  #of(claim: Claim): Handle | undefined {
    return this.#run.handles.of(handleOf(claim));
  }

  #onItsBehalf<T>(claim: Claim, run: () => T): T {
    return runFor(this.#of(claim), run);
  }
}
