import { backoffMs, type Clock, type Instant, monotonicMs } from "../../time/clock.ts";
import type { QuorumNode } from "../../contract/quorum_node.ts";

/** For how long a failed node coordinates only if no other node can, in milliseconds, after its first failure. */
const DOWN_MS = 1_000;

/** The longest such time, in milliseconds; the time doubles with each further failure. */
const MAX_DOWN_MS = 30_000;

/** How long a node may connect before it counts as unanswering, in milliseconds: as long as the usual client tries. */
const CONNECT_TIMEOUT_MS = 10_000;

type HealthState =
  | { readonly name: "healthy" }
  /** It has failed `failures` times in a row, most recently at `since`. */
  | { readonly name: "failed"; readonly since: Instant; readonly failures: number };

const HEALTHY = { name: "healthy" } as const;

/** The health of one node, judged by its last calls. */
export class NodeHealth {
  readonly #node: QuorumNode;
  readonly #clock: Clock;
  #state: HealthState = HEALTHY;
  #connectingSince: Instant | undefined;

  constructor(node: QuorumNode, clock: Clock) {
    this.#node = node;
    this.#clock = clock;
  }

  get failed(): boolean {
    return this.#state.name === "failed";
  }

  /** Whether it failed a short time ago. */
  get down(): boolean {
    if (this.#state.name !== "failed") return false;
    const { since, failures } = this.#state;
    return monotonicMs(since, this.#clock.now()) < backoffMs(failures - 1, DOWN_MS, MAX_DOWN_MS);
  }

  /** Whether its client is connecting, and has been for a short time only. */
  get connecting(): boolean {
    if (this.#node.connecting !== true) {
      this.#connectingSince = undefined;
      return false;
    }
    const now = this.#clock.now();
    this.#connectingSince ??= now;
    return monotonicMs(this.#connectingSince, now) < CONNECT_TIMEOUT_MS;
  }

  /** Records whether a call was answered, in time or late, or failed. */
  note(answered: boolean): void {
    if (answered) this.#state = HEALTHY;
    if (answered || this.down) return;
    const failures = this.#state.name === "failed" ? this.#state.failures + 1 : 1;
    this.#state = { name: "failed", since: this.#clock.now(), failures };
  }
}
