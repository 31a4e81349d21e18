import { backoffMs } from "../../../internal/time/backoff.ts";
import { type Clock, elapsed, type Instant } from "../../../internal/time/clock.ts";
import type { QuorumNode } from "../../../quorum_node.ts";

/** For how long a node that failed coordinates only if no other one can, in milliseconds: the first time. */
const DOWN_MS = 1_000;

/** The longest such time, in milliseconds; it doubles with each further failure. */
const MAX_DOWN_MS = 30_000;

/**
 * How long a node may take to connect before it counts as one that does not answer, in milliseconds; as long as the usual
 * client tries.
 */
const CONNECT_TIMEOUT_MS = 10_000;

type HealthState =
  | { readonly name: "healthy" }
  /** It has failed so often in a row, the last time at that moment. */
  | { readonly name: "failed"; readonly since: Instant; readonly failures: number };

const HEALTHY = { name: "healthy" } as const;

/** Whether one node answers, as far as its last calls show. */
export class NodeHealth {
  readonly #node: QuorumNode;
  readonly #clock: Clock;
  #state: HealthState = HEALTHY;
  /** Since when its client was seen connecting. */
  #connectingSince: Instant | undefined;

  /** Makes the health of a node that has not been asked yet. */
  constructor(node: QuorumNode, clock: Clock) {
    this.#node = node;
    this.#clock = clock;
  }

  /** Whether its last call failed. */
  get failed(): boolean {
    return this.#state.name === "failed";
  }

  /** Whether it failed a short time ago. */
  get down(): boolean {
    if (this.#state.name !== "failed") return false;
    const { since, failures } = this.#state;
    return elapsed(since, this.#clock.now()) < backoffMs(failures - 1, DOWN_MS, MAX_DOWN_MS);
  }

  /** Whether its client is connecting, and has not been for too long. */
  get connecting(): boolean {
    if (this.#node.connecting !== true) {
      this.#connectingSince = undefined;
      return false;
    }
    const now = this.#clock.now();
    this.#connectingSince ??= now;
    return elapsed(this.#connectingSince, now) < CONNECT_TIMEOUT_MS;
  }

  /** Notes whether a call was answered, in time or late, or failed. */
  note(answered: boolean): void {
    if (answered) this.#state = HEALTHY;
    else if (!this.down) this.#fail();
  }

  #fail(): void {
    const failures = this.#state.name === "failed" ? this.#state.failures + 1 : 1;
    this.#state = { name: "failed", since: this.#clock.now(), failures };
  }
}
