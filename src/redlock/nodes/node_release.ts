import { backoffMs, type Clock, elapsed, type Instant } from "../../time/clock.ts";
import { StoreError } from "../../contract/errors.ts";
import type { Claim } from "../../contract/store.ts";
import type { QuorumNode } from "../../contract/quorum_node.ts";

/** The first pause between two tries on a node that fails, in milliseconds; the pause doubles each time. */
const FIRST_PAUSE_MS = 50;

/** The longest pause between two tries, in milliseconds. */
const MAX_PAUSE_MS = 1_000;

export interface ReleaseProgress {
  /** Resolves to whether there was anything to release, after as many tries as needed; rejects when all failed. */
  readonly done: Promise<boolean>;
  /** Settles with the present try. Ends a pause between two tries at once. */
  answer(): Promise<boolean>;
}

const NOTHING = Promise.resolve(false);

/** The release of a node that has nothing to release. */
export const nothingToRelease: ReleaseProgress = { done: NOTHING, answer: () => NOTHING };

/** A release on one node, retried while the node fails and something can last there; not after a permanent error. */
export class NodeRelease implements ReleaseProgress {
  readonly done: Promise<boolean>;
  readonly #node: QuorumNode;
  readonly #claim: Claim;
  readonly #clock: Clock;
  readonly #began: Instant;
  /** The present or the last try. */
  #try: Promise<boolean>;
  #endPause: (() => void) | undefined;

  constructor(node: QuorumNode, claim: Claim, clock: Clock, began: Instant) {
    this.#node = node;
    this.#claim = claim;
    this.#clock = clock;
    this.#began = began;
    this.#try = this.#release();
    this.done = this.#try.catch((error) => this.#retry(error));
    // A majority decides. Nobody waits for the rest, nor for its errors.
    this.done.catch(() => {});
  }

  answer(): Promise<boolean> {
    this.#endPause?.();
    return this.#try;
  }

  async #retry(failure: unknown): Promise<boolean> {
    const limit = Math.max(this.#claim.lease, this.#node.queueTimeout ?? 0);
    for (let retries = 0;; retries++) {
      const useless = this.#node.closed || failure instanceof StoreError && failure.permanent;
      if (useless || elapsed(this.#began, this.#clock.now()) >= limit) throw failure;
      await this.#pause(backoffMs(retries, FIRST_PAUSE_MS, MAX_PAUSE_MS));
      const outcome = await this.#try.then((released) => ({ released }), (error: unknown) => ({ error }));
      if ("released" in outcome) return outcome.released;
      failure = outcome.error;
    }
  }

  /** Resolves when the next try has started: after a pause, or as soon as a caller waits. Keeps no process alive. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#endPause = () => {
        timer.cancel();
        this.#endPause = undefined;
        this.#try = this.#release();
        resolve();
      };
      const timer = this.#clock.timer(ms, this.#endPause);
    });
  }

  /** Releases the round. Rejects also where the node throws. */
  async #release(): Promise<boolean> {
    return await this.#node.release(this.#claim);
  }
}
