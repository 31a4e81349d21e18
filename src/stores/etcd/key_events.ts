import { calledOrAborted } from "../../time/aborted.ts";
import { type Clock, elapsed, type Instant, overdue } from "../../time/clock.ts";
import type { EtcdGateway, KeyValue } from "./gateway.ts";

/** How long the server may take to confirm a watch, in milliseconds: a proxy may hold the stream back. */
const CREATED_MS = 1_000;

/** How many microtasks a stream stays open without a waiter: a loop waits again at once. */
const IDLE_MICROTASKS = 100;

/** How long a stream may be silent, in milliseconds, before no further watch uses it: its connection may be lost. */
const SILENT_MS = 5_000;

/** A change of a key: a write, unless it has another type. */
export interface WatchEvent {
  readonly type?: "DELETE";
  readonly kv: KeyValue;
}

interface WatchResult {
  readonly created?: boolean;
  /** Whether the server has ended the watch, for example because the revision was compacted away. */
  readonly canceled?: boolean;
  readonly events?: readonly WatchEvent[];
}

interface News {
  readonly event?: WatchEvent;
  readonly failure?: unknown;
}

/** The changes of one key from a revision on. */
export class KeyEvents {
  readonly #from: bigint;
  readonly #clock: Clock;
  readonly #end = new AbortController();
  readonly #ended: (buffered: boolean) => void;
  readonly #waiting = new Map<(news: News) => void, bigint>();
  #last: WatchEvent | undefined;
  /** When the last message came, or the watch began. */
  #heardAt: Instant;

  /** Starts a watch. `ended` is called at its end, with whether the server failed to confirm the watch in time. */
  constructor(key: string, from: bigint, gateway: EtcdGateway, clock: Clock, ended: (buffered: boolean) => void) {
    this.#from = from;
    this.#clock = clock;
    this.#heardAt = clock.now();
    this.#ended = ended;
    const request = { "create_request": { key, "start_revision": `${from}` } };
    void this.#run(gateway.stream<WatchResult>("/v3/watch", request, this.#end.signal));
  }

  endIfSilent(): void {
    if (elapsed(this.#heardAt, this.#clock.now()) >= SILENT_MS) this.#close();
  }

  /** Resolves like `EtcdWatches.watch()`. */
  async next(revision: bigint, signal: AbortSignal): Promise<WatchEvent | undefined> {
    // What happened before is unknown.
    if (revision < this.#from) return undefined;
    if (this.#last !== undefined && revisionOf(this.#last) >= revision) return this.#last;
    const { event, failure } = await calledOrAborted<News | void>(signal, (call) => {
      this.#waiting.set(call, revision);
      return () => {
        this.#waiting.delete(call);
        void this.#endIfIdle();
      };
    }) ?? {};
    if (failure !== undefined) throw failure;
    return event;
  }

  async #run(results: AsyncIterable<WatchResult>): Promise<void> {
    const late = overdue(CREATED_MS, () => this.#close(true), this.#clock);
    let news: News = {};
    try {
      for await (const { canceled, events } of results) {
        late.cancel();
        this.#heardAt = this.#clock.now();
        if (canceled) break;
        const event = events?.at(-1);
        if (event !== undefined) this.#tell({ event: this.#last = event }, revisionOf(event));
      }
    } catch (failure) {
      news = { failure };
    }
    late.cancel();
    this.#close();
    this.#tell(news);
  }

  #close(buffered = false): void {
    if (this.#end.signal.aborted) return;
    this.#end.abort();
    this.#ended(buffered);
  }

  /** Calls the waiters for revisions up to `revision`, or all waiters. */
  #tell(news: News, revision?: bigint): void {
    for (const [call, wanted] of [...this.#waiting]) if (revision === undefined || wanted <= revision) call(news);
  }

  async #endIfIdle(): Promise<void> {
    for (let microtasks = 0; this.#waiting.size === 0; microtasks++) {
      if (microtasks === IDLE_MICROTASKS) return this.#close();
      await undefined;
    }
  }
}

function revisionOf({ kv }: WatchEvent): bigint {
  return BigInt(kv.mod_revision);
}
