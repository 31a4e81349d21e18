import { type Clock, elapsed, type Instant } from "../../internal/time/clock.ts";
import type { EtcdGateway } from "./gateway.ts";

/** How many watches are open at most: each takes a connection. */
const MOST_WATCHES = 16;

/** How long the server may take to say that it watches, in milliseconds: a proxy may keep that back. */
const CREATED_MS = 1_000;

/** For how long nothing is watched after that, in milliseconds. */
const BUFFERED_MS = 10_000;

/** What a watch says. */
interface WatchResult {
  readonly created?: boolean;
  /** The server has ended it, such as when the revision was compacted away. */
  readonly canceled?: boolean;
  readonly events?: readonly unknown[];
}

/** Watches keys, each over a stream of its own. */
export class EtcdWatches {
  readonly #gateway: EtcdGateway;
  readonly #clock: Clock;
  #open = 0;
  /** When a watch did not begin in time. */
  #bufferedAt: Instant | undefined;

  /** Makes one; nothing is watched yet. */
  constructor(gateway: EtcdGateway, clock: Clock) {
    this.#gateway = gateway;
    this.#clock = clock;
  }

  /** Resolves when there is something at or after a revision, or may be. Rejects if that cannot be watched: poll then. */
  async watch(key: string, revision: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    if (this.#open === MOST_WATCHES) throw new Error(`${MOST_WATCHES} watches are open`);
    if (this.#bufferedAt !== undefined && elapsed(this.#bufferedAt, this.#clock.now()) < BUFFERED_MS) {
      throw new Error("watches do not begin here: a proxy keeps back what the server says");
    }
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener("abort", end);
    const late = this.#clock.timer(CREATED_MS, () => {
      this.#bufferedAt = this.#clock.now();
      over.abort();
    });
    this.#open++;
    try {
      const request = { "create_request": { key, "start_revision": revision } };
      for await (const { canceled, events } of this.#gateway.stream<WatchResult>("/v3/watch", request, over.signal)) {
        late.cancel();
        if (canceled || events !== undefined) return;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#open--;
      late.cancel();
      signal.removeEventListener("abort", end);
    }
  }
}
