/** One hold that wants to know when it is taken away. */
interface Listener {
  /** To be called when it was. */
  readonly evicted: () => void;
  /** Asks the server whether it is held. */
  readonly held: () => Promise<boolean>;
}

/** The holds of a client that hear over Pub/Sub when they are taken away. */
export class Evictions {
  readonly #listeners = new Map<string, Listener>();

  /** How many holds listen. */
  get size(): number {
    return this.#listeners.size;
  }

  /**
   * Resolves when the hold is taken away, or the signal aborts.
   *
   * @param hold the hold
   * @param held asks the server whether it is held
   * @param signal ends the wait
   */
  wait(hold: string, held: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const evicted = () => {
        signal.removeEventListener("abort", evicted);
        this.#listeners.delete(hold);
        resolve();
      };
      if (signal.aborted) return resolve();
      signal.addEventListener("abort", evicted);
      this.#listeners.set(hold, { evicted, held });
    });
  }

  /** Takes a message: a hold that was taken away. */
  hear(hold: string): void {
    this.#listeners.get(hold)?.evicted();
  }

  /** Asks the server about one hold or all of them: messages were lost while nobody listened. */
  check(hold?: string): void {
    const listeners = hold === undefined ? [...this.#listeners.values()] : [this.#listeners.get(hold)];
    // What cannot be asked now is found out by the next renewal.
    for (const one of listeners) one?.held().then((held) => held || one.evicted(), () => {});
  }
}
