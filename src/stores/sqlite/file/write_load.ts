/** The time that this process has spent writing, less the time without writing since. */
export class WriteLoad {
  #loadMs = 0;
  #ended = -Infinity;

  /** Returns the load at a moment of the monotonic clock, in milliseconds. */
  at(now: number): number {
    return Math.max(0, this.#loadMs - (now - this.#ended));
  }

  /** Adds a transaction, from a moment of the monotonic clock to another. */
  add(began: number, ended: number): void {
    this.#loadMs = this.at(began) + ended - began;
    this.#ended = ended;
  }

  /** Records that the event loop has turned: other work had its time. */
  reset(): void {
    this.#loadMs = 0;
  }
}
