import { calledOrAborted } from "../time/aborted.ts";

/** What is renewed at an interval. */
export interface Renewable {
  /** Renews it, if it is still wanted. Never rejects. */
  renew(): Promise<unknown>;
}

/**
 * The loop that renews the leases of one store, each when it is due. One for all of them: ten thousand held leases would
 * otherwise keep ten thousand loops, and those that are due together are sent together.
 */
export class RenewalLoop {
  readonly #due: Renewable[] = [];
  readonly #ended = new AbortController();
  #wake = (): void => {};

  /** Starts the loop. */
  constructor() {
    void this.#run(this.#ended.signal);
  }

  /** Renews a lease that is due now. */
  add(lease: Renewable): void {
    this.#due.push(lease);
    this.#wake();
  }

  /** Ends the loop. */
  end(): void {
    // A reason of our own: the default is an error with a stack.
    this.#ended.abort("ended");
  }

  async #run(signal: AbortSignal): Promise<void> {
    for await (const due of this.#interval(signal)) {
      // In one step: the client can send them in one write. No answer is awaited: a store may hang for longer than the
      // other leases last.
      for (const lease of due) void lease.renew();
    }
  }

  /** Yields the leases that are due together, whenever some are, until the signal aborts. */
  async *#interval(signal: AbortSignal): AsyncGenerator<Renewable[], void, void> {
    while (!signal.aborted) {
      if (this.#due.length > 0) yield this.#due.splice(0);
      else await calledOrAborted(signal, (wake) => void (this.#wake = wake));
    }
  }
}
