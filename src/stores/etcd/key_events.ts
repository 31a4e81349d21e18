import { calledOrAborted } from "../../internal/time/aborted.ts";
import { type Clock, elapsed, type Instant } from "../../internal/time/clock.ts";
import type { EtcdGateway, KeyValue } from "./gateway.ts";

/** How long the server may take to say that it watches, in milliseconds: a proxy may keep that back. */
const CREATED_MS = 1_000;

/** For how many microtasks a stream stays open that nobody waits for: whoever goes on waiting does so at once. */
const IDLE_MICROTASKS = 100;

/** For how long a stream may say nothing, in milliseconds, before no other watch uses it: it may be dead. */
const SILENT_MS = 5_000;

/** What has happened to a key: it was written if nothing else is said. */
export interface WatchEvent {
  readonly type?: "DELETE";
  readonly kv: KeyValue;
}

/** What a stream says. */
interface WatchResult {
  readonly created?: boolean;
  /** The server has ended it, such as when the revision was compacted away. */
  readonly canceled?: boolean;
  readonly events?: readonly WatchEvent[];
}

/** What those are told that wait. */
interface News {
  readonly event?: WatchEvent;
  readonly failure?: unknown;
}

/** What happens to one key from a revision on. */
export class KeyEvents {
  readonly #from: bigint;
  readonly #clock: Clock;
  readonly #end = new AbortController();
  readonly #ended: (buffered: boolean) => void;
  /** Those that wait, with the revision that they wait for. */
  readonly #waiting = new Map<(news: News) => void, bigint>();
  #last: WatchEvent | undefined;
  /** When it last said something, or began. */
  #heardAt: Instant;

  /** Begins to watch. `ended` is called before it ends, with whether the server did not say in time that it watches. */
  constructor(key: string, from: bigint, gateway: EtcdGateway, clock: Clock, ended: (buffered: boolean) => void) {
    this.#from = from;
    this.#clock = clock;
    this.#heardAt = clock.now();
    this.#ended = ended;
    const request = { "create_request": { key, "start_revision": `${from}` } };
    void this.#run(gateway.stream<WatchResult>("/v3/watch", request, this.#end.signal));
  }

  /** Ends if it may be dead. */
  endIfSilent(): void {
    if (elapsed(this.#heardAt, this.#clock.now()) >= SILENT_MS) this.#close();
  }

  /** Resolves like `EtcdWatches.watch()`. */
  async next(revision: bigint, signal: AbortSignal): Promise<WatchEvent | undefined> {
    // What was before is not known.
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
    const late = this.#clock.timer(CREATED_MS, () => this.#close(true));
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

  /** Tells those that wait for a revision up to this one; all of them if it is left out. */
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
