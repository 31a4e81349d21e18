/** A handle that watches whether its lock is taken away. */
interface Watch {
  /** Is called when it was. */
  readonly revoked: () => void;
  /** Asks the server whether the handle holds the lock. */
  readonly held: () => Promise<boolean>;
}

/** The handles of a client that watch whether their locks are taken away by steal or evict. */
export class Revocations {
  readonly #watches = new Map<string, Watch>();

  /** How many handles watch. */
  get size(): number {
    return this.#watches.size;
  }

  /**
   * Resolves when the lock is taken away from a handle, or the signal aborts.
   *
   * @param handle the id of the handle
   * @param held asks the server whether the handle holds the lock
   * @param signal ends the wait
   */
  wait(handle: string, held: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const revoked = () => {
        signal.removeEventListener("abort", revoked);
        this.#watches.delete(handle);
        resolve();
      };
      if (signal.aborted) return resolve();
      signal.addEventListener("abort", revoked);
      this.#watches.set(handle, { revoked, held });
    });
  }

  /** Receives the id of a handle whose lock was taken away. Any user of the channel can send one, so the server is asked. */
  receive(handle: string): void {
    this.check(handle);
  }

  /** Asks the server about one handle, or about all of them: messages are lost while the subscription is down. */
  check(handle?: string): void {
    const watches = handle === undefined ? [...this.#watches.values()] : [this.#watches.get(handle)];
    // If the server cannot be asked now, the next renewal finds out.
    for (const watch of watches) watch?.held().then((held) => held || watch.revoked(), () => {});
  }
}
