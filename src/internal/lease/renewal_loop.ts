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
    // Not awaited: a store may hang for longer than the other leases last.
    for await (const lease of this.#interval(signal)) void lease.renew();
  }

  /** Yields each lease whenever it is due, until the signal aborts. */
  async *#interval(signal: AbortSignal): AsyncGenerator<Renewable, void, void> {
    while (!signal.aborted) {
      yield* this.#due.splice(0);
      if (this.#due.length === 0) await calledOrAborted(signal, (wake) => void (this.#wake = wake));
    }
  }
}
