import type { Attempt, AttemptOptions, Claim, Renewal, Store } from "@holdfast/lock";
import { handleOf } from "../src/contract/store.ts";

/** How long a waiter waits for its turn, in milliseconds: it is always woken before. */
const RETRY_MS = 60_000;

/**
 * A store that keeps one lock in a variable, and its queue in an array: it answers at once, and wakes the next waiter
 * inside the release. What a handoff takes on it is what the code around a store takes.
 */
export class InstantStore implements Store {
  #holder: string | undefined;
  #fence = 0n;
  readonly #queue: string[] = [];
  readonly #wake = new Map<string, () => void>();

  drift(): number {
    return 0;
  }

  attempt(claim: Claim, { enqueue }: AttemptOptions): Promise<Attempt> {
    const handle = handleOf(claim);
    this.#holder ??= handle;
    if (this.#holder === handle) return Promise.resolve({ granted: true, fence: ++this.#fence });
    if (enqueue && !this.#queue.includes(handle)) this.#queue.push(handle);
    return Promise.resolve({ granted: false, retryAfter: RETRY_MS });
  }

  renew(): Promise<Renewal> {
    return Promise.resolve("renewed");
  }

  release(): Promise<boolean> {
    this.#holder = this.#queue.shift();
    if (this.#holder !== undefined) this.#wake.get(this.#holder)?.();
    return Promise.resolve(true);
  }

  wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const handle = handleOf(claim);
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done);
        this.#wake.delete(handle);
        resolve();
      };
      signal.addEventListener("abort", done);
      this.#wake.set(handle, done);
      if (this.#holder === handle) done();
    });
  }
}
