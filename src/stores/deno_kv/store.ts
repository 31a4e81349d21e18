import { StoreError } from "../../contract/errors.ts";
import { Closable } from "../../internal/closable.ts";
import type { ListingStore } from "../../contract/store.ts";
import type {
  Backend,
  FoundDocument,
  KeyVersion,
  ListedDocuments,
  WatchOptions,
  WriteResult,
} from "../../engine/mod.ts";
import { casOf } from "../../engine/store.ts";
import { checkDenoKvOptions, type DenoKv, type DenoKvEntry, type DenoKvOptions } from "./options.ts";

/** A store in a Deno KV. `query()` lists all locks of the prefix, in the order of the names. */
export type DenoKvStore = ListingStore;

/**
 * Returns a store in a Deno KV. **A local file serves one process**: with several, calls fail with "database is
 * locked", and watches miss the writes of other processes. It was not tried on Deno Deploy.
 *
 * **Clocks.** A Deno KV tells no time, so leases go by the clocks of the processes. A waiter succeeds a dead holder
 * after it has itself seen no renewal for a whole lease. `tryAcquire`, and a wait that ends, succeed it `maxClockSkew`
 * after the end of the lease. If a clock is wrong by more than that, two callers may believe for a moment that they
 * hold the lock; the fence orders them.
 *
 * **Closing.** After `kv.close()` calls and waiters reject with a `StoreError` that is `permanent`, and held locks end
 * with their leases.
 *
 * @example
 * ```ts
 * import { acquire } from "@holdfast/lock";
 * import { denoKv } from "@holdfast/lock/deno-kv";
 *
 * using kv = await Deno.openKv(":memory:");
 * const store = denoKv(kv, { maxClockSkew: 5_000 });
 * await using lock = await acquire(store, "nightly-report", { wait: 1_000 });
 * ```
 *
 * @param kv the Deno KV, from `Deno.openKv()`
 * @param options a prefix, an observer, and how far clocks may be apart
 * @throws {TypeError} when `kv` is no Deno KV, or an option is unknown or of the wrong kind
 * @throws {RangeError} when `maxClockSkew` is negative
 */
export function denoKv(kv: DenoKv, options: DenoKvOptions = {}): DenoKvStore {
  const { prefix, engine } = checkDenoKvOptions(kv, options);
  return casOf(new KvBackend(kv, prefix), engine, kv, JSON.stringify([prefix]));
}

/** The largest document, in bytes: below the 65,536 that a value may have. */
const MAX_BYTES = 65_000;

/**
 * Keeps documents in a Deno KV: as UTF-8, because a string takes two bytes for each character if one is not Latin-1.
 */
export class KvBackend extends Closable implements Backend<string | null> {
  readonly maxBytes = MAX_BYTES;
  readonly #kv: DenoKv;
  readonly #prefix: string;

  constructor(kv: DenoKv, prefix: string) {
    super();
    this.#kv = kv;
    this.#prefix = prefix;
  }

  read(key: string): Promise<FoundDocument<string | null>> {
    return this.#call(async () => foundIn(await this.#kv.get(this.#keyOf(key), { consistency: "strong" })));
  }

  write(key: string, value: string, versionstamp: string | null): Promise<WriteResult<string | null>> {
    return this.#call(async () => {
      const path = this.#keyOf(key);
      const bytes = new TextEncoder().encode(value);
      const reply = await this.#kv.atomic().check({ key: path, versionstamp }).set(path, bytes).commit();
      return reply.ok ? { written: true, version: reply.versionstamp } : { written: false };
    });
  }

  async remove(documents: readonly KeyVersion<string | null>[]): Promise<number> {
    let removed = 0;
    // One after the other: a local file locks itself for each.
    for (const { key, version: versionstamp } of documents) {
      const path = this.#keyOf(key);
      const commit = () => this.#kv.atomic().check({ key: path, versionstamp }).delete(path).commit();
      if ((await this.#call(commit)).ok) removed++;
    }
    return removed;
  }

  list(limit: number, cursor?: string): Promise<ListedDocuments<string | null>> {
    return this.#call(async () => {
      // Deno has errors of several kinds for it.
      if (/[^\w+/=-]/.test(cursor ?? "")) throw new TypeError("the cursor is not base64");
      const page = { limit, ...cursor === undefined ? {} : { cursor } };
      const entries = this.#kv.list({ prefix: [this.#prefix] }, { ...page, consistency: "strong" });
      const documents = [];
      for await (const entry of entries) documents.push({ key: String(entry.key[1]), ...foundIn(entry) });
      return { documents, cursor: entries.cursor || undefined };
    });
  }

  watch(key: string, version: string | null, signal: AbortSignal, { isWaited }: WatchOptions): Promise<void> {
    return this.#call(async () => {
      if (!isWaited) throw new Error("a watch of a Deno KV keeps the process alive");
      if (signal.aborted) return;
      const reader = this.#kv.watch([this.#keyOf(key)]).getReader();
      // A read that waits resolves then. A watch that has failed rejects again.
      const cancel = () => void reader.cancel().catch(() => {});
      signal.addEventListener("abort", cancel);
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done || value[0]?.versionstamp !== version) return;
        }
      } finally {
        signal.removeEventListener("abort", cancel);
        cancel();
      }
    });
  }

  #keyOf(name: string): [prefix: string, name: string] {
    return [this.#prefix, name];
  }

  async #call<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (cause) {
      // What Deno throws for a resource that was closed, and to requests on their way.
      if (cause instanceof Error && (cause.name === "BadResource" || cause.message === "Database is closed.")) {
        this.foundClosed();
        throw new StoreError("The Deno KV is closed", { permanent: true, cause });
      }
      if (!(cause instanceof TypeError)) throw cause;
      if (/cursor/.test(cause.message)) {
        throw new RangeError(`cursor must be one that query() has returned: ${cause.message}`, { cause });
      }
      // A key with a long prefix, above all: nothing was done.
      if (/too large/.test(cause.message)) throw new StoreError(cause.message, { permanent: true, cause });
      // Deno also throws one where a retry helps: "database is locked".
      throw new Error(cause.message, { cause });
    }
  }
}

function foundIn({ value, versionstamp }: DenoKvEntry): FoundDocument<string | null> {
  if (versionstamp === null) return { value: undefined, version: null };
  // What another program has set is no document: the engine quotes it in its error.
  const text = value instanceof Uint8Array ? new TextDecoder().decode(value) : String(value);
  return { value: text, version: versionstamp };
}
