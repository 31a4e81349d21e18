import type { DenoKv, DenoKvAtomic, DenoKvEntry, DenoKvList } from "@holdfast/lock/deno-kv";

/** A Deno KV that counts what is asked of it. */
export class CountedKv implements DenoKv {
  readonly #watches = new Set<unknown>();
  /** With how many arguments values were set. */
  readonly sets: number[] = [];
  readonly #kv: Deno.Kv;
  #reads = 0;
  #writes = 0;

  constructor(kv: Deno.Kv) {
    this.#kv = kv;
  }

  /** How many watches are open. */
  get watches(): number {
    return this.#watches.size;
  }

  /** Returns how many reads and writes there were since the last call. */
  trips(): { reads: number; writes: number } {
    const trips = { reads: this.#reads, writes: this.#writes };
    [this.#reads, this.#writes] = [0, 0];
    return trips;
  }

  get(...args: Parameters<DenoKv["get"]>): Promise<DenoKvEntry> {
    this.#reads++;
    return this.#kv.get(...args);
  }

  list(...args: Parameters<DenoKv["list"]>): DenoKvList {
    this.#reads++;
    return this.#kv.list(...args);
  }

  atomic(): DenoKvAtomic {
    const atomic = this.#kv.atomic();
    const [set, commit] = [atomic.set.bind(atomic), atomic.commit.bind(atomic)];
    atomic.set = (...args) => {
      this.sets.push(args.length);
      return set(...args);
    };
    atomic.commit = () => {
      this.#writes++;
      return commit();
    };
    return atomic;
  }

  watch(...args: Parameters<DenoKv["watch"]>): ReadableStream<readonly DenoKvEntry[]> {
    const reader = this.#kv.watch(...args).getReader();
    this.#watches.add(reader);
    return new ReadableStream<readonly DenoKvEntry[]>({
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        // Closed, unless it was cancelled.
        if (this.#watches.delete(reader)) controller.close();
      },
      cancel: async () => {
        this.#watches.delete(reader);
        await reader.cancel();
      },
    });
  }
}
