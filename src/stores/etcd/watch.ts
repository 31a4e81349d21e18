import { type Clock, elapsed, type Instant } from "../../internal/time/clock.ts";
import { KeyEvents, type WatchEvent } from "./key_events.ts";
import type { EtcdGateway } from "./gateway.ts";

/** How many watches are open at most: each takes a connection. */
const MOST_WATCHES = 16;

/** How long no watch is started after the server did not confirm one in time, in milliseconds. */
const BUFFERED_MS = 10_000;

/** Watches keys, each over a stream of its own. */
export class EtcdWatches {
  readonly #gateway: EtcdGateway;
  readonly #clock: Clock;
  readonly #streams = new Map<string, KeyEvents>();
  /** When a watch was not confirmed in time. */
  #bufferedAt: Instant | undefined;

  /** Watches nothing yet. */
  constructor(gateway: EtcdGateway, clock: Clock) {
    this.#gateway = gateway;
    this.#clock = clock;
  }

  /**
   * Resolves when the key was changed at or after a revision, or may have been: to the last event, if that is known.
   * Rejects if the key cannot be watched: the caller polls then.
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
