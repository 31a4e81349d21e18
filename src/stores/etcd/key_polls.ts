import { calledOrAborted } from "../../time/aborted.ts";
import type { Clock, Timer } from "../../time/clock.ts";
import { type EtcdGateway, MOST_RANGES } from "./gateway.ts";
import type { WatchEvent } from "./key_events.ts";

/** A key, and the first revision that is news. */
interface WantedKey {
  readonly key: string;
  readonly revision: bigint;
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
    for (let first = 0; first < all.length; first += MOST_RANGES) {
      await this.#askFor(all.slice(first, first + MOST_RANGES));
    }
    this.#isAsking = false;
    this.#askLater();
  }

  /** Asks for as many keys as one request can have, so that its failure holds up no others. */
  async #askFor(waiting: readonly (readonly [call: (event: WatchEvent) => void, wanted: WantedKey])[]): Promise<void> {
    try {
      const ranges = await this.#gateway.ranges(
        waiting.map(([, { key, revision }]) => ({ key, min_mod_revision: `${revision}` })),
      );
      for (const [index, [call, { key, revision }]] of waiting.entries()) {
        const { kvs: [kv] = [], count } = ranges[index]!;
        if (kv !== undefined) call({ kv });
        // A key that is not there, and was not there before, has not changed.
        else if (count === undefined && revision > 1n) {
          call({ type: "DELETE", kv: { key, mod_revision: `${revision}` } });
        }
      }
    } catch {
      // The engine looks by itself now and then, and finds the fault.
    }
  }
}
