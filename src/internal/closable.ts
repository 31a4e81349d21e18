/** A client or file that calls a function once it is closed, or once a call has found it closed. */
export class Closable {
  readonly #runs = new Set<() => void>();
  #isClosed = false;

  get closed(): boolean {
    return this.#isClosed;
  }

  /** Calls a function once it is closed. Returns a function that cancels this. */
  onClosed(run: () => void): () => void {
    this.#runs.add(run);
    return () => this.#runs.delete(run);
  }

  /** Records that a call has found it closed. */
  foundClosed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const run of this.#runs) run();
  }
}
