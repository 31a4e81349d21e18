import type { Clock } from "../../../src/time/clock.ts";
import { StoreError } from "../../../src/contract/errors.ts";
import type { Observer } from "../../../src/contract/events.ts";
import {
  type Attempt,
  type AttemptOptions,
  type Claim,
  handleOf,
  type Renewal,
  type Store,
} from "../../../src/contract/store.ts";
import { PassingStore } from "../../support/passing_store.ts";

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
export class Connection extends PassingStore {
  readonly #clock: Clock;
  readonly #fates: readonly Fate[];
  #calls = 0;

  constructor(store: Store, clock: Clock, fates: readonly Fate[], observer: Observer) {
    super(store, observer);
    this.#clock = clock;
    this.#fates = fates;
  }

  override attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    return this.#carry(() => super.attempt(claim, options));
  }

  override renew(claim: Claim): Promise<Renewal> {
    return this.#carry(() => super.renew(claim));
  }

  override release(claim: Claim): Promise<boolean> {
    return this.#carry(() => super.release(claim));
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
export class Caller extends PassingStore {
  /** The ids of the handles. */
  readonly handles: Set<string> = new Set();

  override attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    this.handles.add(handleOf(claim));
    return super.attempt(claim, options);
  }
}
