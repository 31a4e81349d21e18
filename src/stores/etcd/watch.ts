import { type Clock, elapsed, type Instant } from "../../internal/time/clock.ts";
import { KeyEvents, type WatchEvent } from "./key_events.ts";
import type { EtcdGateway } from "./gateway.ts";

/** How many watches are open at most: each takes a connection. */
const MOST_WATCHES = 16;

/** For how long nothing is watched when the server did not say in time that it watches, in milliseconds. */
const BUFFERED_MS = 10_000;

/** Watches keys, each over a stream of its own. */
export class EtcdWatches {
  readonly #gateway: EtcdGateway;
  readonly #clock: Clock;
  readonly #streams = new Map<string, KeyEvents>();
  /** When a watch did not begin in time. */
  #bufferedAt: Instant | undefined;

  /** Makes one; nothing is watched yet. */
  constructor(gateway: EtcdGateway, clock: Clock) {
    this.#gateway = gateway;
    this.#clock = clock;
  }

  /**
   * Resolves when there is something at or after a revision, or may be: to the last event, if it is known. Rejects if that
   * cannot be watched: poll then.
   */
  async watch(key: string, revision: bigint, signal: AbortSignal): Promise<WatchEvent | undefined> {
    if (signal.aborted) return undefined;
    this.#streams.get(key)?.endIfSilent();
    const stream = this.#streams.get(key) ?? this.#begin(key, revision);
    return await stream.next(revision, signal);
  }

  #begin(key: string, revision: bigint): KeyEvents {
    if (this.#streams.size === MOST_WATCHES) throw new Error(`${MOST_WATCHES} watches are open`);
    if (this.#bufferedAt !== undefined && elapsed(this.#bufferedAt, this.#clock.now()) < BUFFERED_MS) {
      throw new Error("watches do not begin here: a proxy keeps back what the server says");
    }
    const stream = new KeyEvents(key, revision, this.#gateway, this.#clock, (buffered) => {
      this.#streams.delete(key);
      if (buffered) this.#bufferedAt = this.#clock.now();
    });
    this.#streams.set(key, stream);
    return stream;
  }
}
