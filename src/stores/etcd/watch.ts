import { type Clock, elapsed, type Instant } from "../../time/clock.ts";
import type { WatchOptions } from "../../engine/mod.ts";
import { warnOnce } from "../../internal/process/warning.ts";
import { KeyEvents, type WatchEvent } from "./key_events.ts";
import { KeyPolls } from "./key_polls.ts";
import type { EtcdGateway } from "./gateway.ts";

/** The largest number of open watches: each takes a connection. */
const MOST_WATCHES = 16;

/** How long no watch is started after the server failed to confirm one in time, in milliseconds. */
const BUFFERED_MS = 10_000;

/** How often to poll keys with waiters, and keys whose holders watch for revocation, in milliseconds. */
const WAITERS_MS = 500;
const HOLDERS_MS = 1_000;

/** Watches keys with waiters, each over a stream of its own. Polls all other keys. */
export class EtcdWatches {
  readonly #gateway: EtcdGateway;
  readonly #clock: Clock;
  readonly #streams = new Map<string, KeyEvents>();
  readonly #waiters: KeyPolls;
  /** Polls for holders: an open stream would keep the process alive, and an idle holder must not. */
  readonly #holders: KeyPolls;
  #bufferedAt: Instant | undefined;

  constructor(gateway: EtcdGateway, clock: Clock) {
    this.#gateway = gateway;
    this.#clock = clock;
    this.#waiters = new KeyPolls(WAITERS_MS, gateway, clock);
    this.#holders = new KeyPolls(HOLDERS_MS, gateway, clock);
  }

  /** Resolves when the key may have changed since a revision, to the last event if known; rejects with the stream. */
  async watch(
    key: string,
    revision: bigint,
    signal: AbortSignal,
    { isWaited }: WatchOptions,
  ): Promise<WatchEvent | undefined> {
    if (signal.aborted) return undefined;
    if (!isWaited) return await this.#holders.changed(key, revision, signal);
    this.#streams.get(key)?.endIfSilent();
    const stream = this.#streams.get(key) ?? this.#begin(key, revision);
    return await (stream?.next(revision, signal) ?? this.#waiters.changed(key, revision, signal));
  }

  /** Starts a stream; none if too many are open, or a proxy holds back the server's messages. */
  #begin(key: string, revision: bigint): KeyEvents | undefined {
    if (this.#streams.size === MOST_WATCHES) return undefined;
    if (this.#bufferedAt !== undefined && elapsed(this.#bufferedAt, this.#clock.now()) < BUFFERED_MS) return undefined;
    const stream = new KeyEvents(key, revision, this.#gateway, this.#clock, (buffered) => {
      this.#streams.delete(key);
      if (buffered) this.#noteBuffered();
    });
    this.#streams.set(key, stream);
    return stream;
  }

  /** Records that a watch was not confirmed in time. The first time may be a slow server; the second is a proxy. */
  #noteBuffered(): void {
    const why = "the server confirms no watch within a second: does a proxy keep back what it says?";
    if (this.#bufferedAt !== undefined) warnOnce("etcd watch", `Waiters poll: ${why}`);
    this.#bufferedAt = this.#clock.now();
  }
}
