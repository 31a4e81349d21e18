import { calledOrAborted } from "../../time/aborted.ts";
import type { Clock, Timer } from "../../time/clock.ts";
import type { EtcdGateway, KeyValue } from "./gateway.ts";
import type { WatchEvent } from "./key_events.ts";

/** How many keys a request reads: by default a member takes 128 operations in one (`--max-txn-ops`). */
const MOST_KEYS = 100;

/** A key, and the first revision that is news. */
interface WantedKey {
  readonly key: string;
  readonly revision: bigint;
}

/** The answers to the ranges of a transaction. A range without a change has no value. */
interface PollResult {
  readonly responses: readonly {
    readonly "response_range": { readonly kvs?: readonly [KeyValue]; readonly count?: string };
  }[];
}

/** Reads many keys with one request, again and again. Between two requests nothing keeps the process alive. */
export class KeyPolls {
  readonly #periodMs: number;
  readonly #gateway: EtcdGateway;
  readonly #clock: Clock;
  readonly #waiting = new Map<(event: WatchEvent) => void, WantedKey>();
  #next: Timer | undefined;
  #isAsking = false;

  constructor(periodMs: number, gateway: EtcdGateway, clock: Clock) {
    this.#periodMs = periodMs;
    this.#gateway = gateway;
    this.#clock = clock;
  }

  /** Resolves when a key was changed at or after a revision, to the last change, or when the signal aborts. */
  async changed(key: string, revision: bigint, signal: AbortSignal): Promise<WatchEvent | undefined> {
    return await calledOrAborted<WatchEvent>(signal, (call) => {
      this.#waiting.set(call, { key, revision });
      this.#askLater();
      return () => {
        this.#waiting.delete(call);
        if (this.#waiting.size > 0) return;
        this.#next?.cancel();
        this.#next = undefined;
      };
    }) ?? undefined;
  }

  #askLater(): void {
    if (this.#waiting.size === 0 || this.#isAsking) return;
    this.#next ??= this.#clock.timer(this.#periodMs, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    this.#next = undefined;
    this.#isAsking = true;
    const all = [...this.#waiting];
    for (let first = 0; first < all.length; first += MOST_KEYS) {
      await this.#askFor(all.slice(first, first + MOST_KEYS));
    }
    this.#isAsking = false;
    this.#askLater();
  }

  async #askFor(waiting: readonly (readonly [call: (event: WatchEvent) => void, wanted: WantedKey])[]): Promise<void> {
    const success = waiting.map(([, { key, revision }]) => {
      return { request_range: { key, min_mod_revision: `${revision}` } };
    });
    try {
      const { responses } = await this.#gateway.call<PollResult>("/v3/kv/txn", { success });
      waiting.forEach(([call, { key, revision }], index) => {
        const { kvs, count } = responses[index]!.response_range;
        if (kvs !== undefined) call({ kv: kvs[0] });
        // A key that is not there, and was not there before, has not changed.
        else if (count === undefined && revision > 1n) {
          call({ type: "DELETE", kv: { key, mod_revision: `${revision}` } });
        }
      });
    } catch {
      // The engine looks by itself now and then, and finds the fault.
    }
  }
}
