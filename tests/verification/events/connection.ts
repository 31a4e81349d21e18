import { aborted } from "../../../src/time/aborted.ts";
import type { Clock } from "../../../src/time/clock.ts";
import { StoreError } from "../../../src/contract/errors.ts";
import type { Observer } from "../../../src/contract/events.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Claim,
  type EvictOptions,
  handleOf,
  type Renewal,
  type Store,
} from "../../../src/contract/store.ts";

/**
 * What becomes of a call to a store:
 *
 * - `done`: it is carried out.
 * - `lost`: it is not, and fails.
 * - `unheard`: it is, and its answer is lost.
 * - `slow`: it is carried out, and answered late.
 * - `silent`: it is carried out, and never answered.
 * - `refused`: it is not, and never will be.
 */
export type Fate = "done" | "lost" | "unheard" | "slow" | "silent" | "refused";

/** How late a slow answer comes, in milliseconds. */
const SLOW_MS = 400;

/** A connection to a store that can fail: each call has the next fate. */
export class Connection implements Store {
  readonly observer: Observer;
  readonly evict?: (name: string, options?: EvictOptions) => Promise<number>;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #fates: readonly Fate[];
  #calls = 0;

  constructor(store: Store, clock: Clock, fates: readonly Fate[], observer: Observer) {
    this.#store = store;
    this.#clock = clock;
    this.#fates = fates;
    this.observer = observer;
    if (store.evict !== undefined) this.evict = (name, options) => store.evict!(name, options);
  }

  get capabilities() {
    return this.#store.capabilities;
  }

  readonly drift = (lease: number): number => this.#store.drift(lease);

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    return this.#carry(() => this.#store.attempt(claim, options));
  }

  renew(claim: Claim): Promise<Renewal> {
    return this.#carry(() => this.#store.renew(claim));
  }

  release(claim: Claim): Promise<boolean> {
    return this.#carry(() => this.#store.release(claim));
  }

  async wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    await (this.#store.wakeup?.(claim, signal) ?? aborted(signal));
  }

  async revocation(claim: Claim, signal: AbortSignal): Promise<void> {
    await (this.#store.revocation?.(claim, signal) ?? aborted(signal));
  }

  forget(claim: Claim): void {
    this.#store.forget?.(claim);
  }

  async #carry<T>(call: () => Promise<T>): Promise<T> {
    const fate = this.#fates[this.#calls++] ?? "done";
    if (fate === "lost") throw new Error("cut off before");
    if (fate === "refused") throw new StoreError("NOPERM", { permanent: true });
    const answer = await call();
    if (fate === "unheard") throw new Error("cut off after");
    if (fate === "slow") await this.#clock.sleep(SLOW_MS);
    if (fate === "silent") await new Promise<never>(() => {});
    return answer;
  }
}

/** A store as one call uses it: notes the handles that have asked. */
export class Caller implements Store {
  readonly observer: Observer;
  /** The ids of the handles. */
  readonly handles: Set<string> = new Set();
  readonly #store: Store;

  constructor(store: Store, observer: Observer) {
    this.#store = store;
    this.observer = observer;
  }

  get capabilities() {
    return this.#store.capabilities;
  }

  readonly drift = (lease: number): number => this.#store.drift(lease);

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    this.handles.add(handleOf(claim));
    return this.#store.attempt(claim, options);
  }

  renew(claim: Claim): Promise<Renewal> {
    return this.#store.renew(claim);
  }

  release(claim: Claim): Promise<boolean> {
    return this.#store.release(claim);
  }

  async wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    await (this.#store.wakeup?.(claim, signal) ?? aborted(signal));
  }

  async revocation(claim: Claim, signal: AbortSignal): Promise<void> {
    await (this.#store.revocation?.(claim, signal) ?? aborted(signal));
  }

  forget(claim: Claim): void {
    this.#store.forget?.(claim);
  }
}
