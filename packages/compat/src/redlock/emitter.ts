/** A listener for the errors of a {@linkcode RedlockEmitter}. */
export type RedlockListener = (error: Error) => void;

/** The events: `error` in redlock 5, `clientError` in redlock 4. */
export type RedlockEvent = "error" | "clientError";

/** The part of an `EventEmitter` that users of redlock need. An event without listeners is ignored, even `error`. */
export class RedlockEmitter {
  readonly #listeners: { readonly event: RedlockEvent; readonly listener: RedlockListener; readonly once: boolean }[] =
    [];

  /** Adds a listener. */
  on(event: RedlockEvent, listener: RedlockListener): this {
    this.#listeners.push({ event, listener, once: false });
    return this;
  }

  /** Adds a listener. */
  addListener(event: RedlockEvent, listener: RedlockListener): this {
    return this.on(event, listener);
  }

  /** Adds a listener for the next event alone. */
  once(event: RedlockEvent, listener: RedlockListener): this {
    this.#listeners.push({ event, listener, once: true });
    return this;
  }

  /** Removes a listener; of a listener that was added several times, the last. */
  off(event: RedlockEvent, listener: RedlockListener): this {
    this.#remove(this.#listeners.findLastIndex((each) => each.event === event && each.listener === listener));
    return this;
  }

  /** Removes a listener. */
  removeListener(event: RedlockEvent, listener: RedlockListener): this {
    return this.off(event, listener);
  }

  /** Returns how many listeners an event has. */
  listenerCount(event: RedlockEvent): number {
    return this.#listeners.filter((each) => each.event === event).length;
  }

  /** Calls the listeners of an event. Returns whether the event has a listener. */
  emit(event: RedlockEvent, error: Error): boolean {
    const called = this.#listeners.filter((each) => each.event === event);
    for (const each of called) {
      if (each.once) this.#remove(this.#listeners.indexOf(each));
      each.listener(error);
    }
    return called.length > 0;
  }

  #remove(at: number): void {
    if (at >= 0) this.#listeners.splice(at, 1);
  }
}
