import { base64Of, textOfBase64 } from "../../internal/base64.ts";
import { type Clock, SystemClock } from "../../time/clock.ts";
import type { ListingStore } from "../../contract/store.ts";
import type {
  Backend,
  FoundDocument,
  KeyVersion,
  ListedDocuments,
  WatchedDocument,
  WatchOptions,
  WriteResult,
} from "../../engine/mod.ts";
import { casOf } from "../../engine/store.ts";
import { EtcdGateway, type KeyValue, lacking, rangeIn, type RangeResult, type TransactionResult } from "./gateway.ts";
import { checkEtcdOptions, type EtcdOptions } from "./options.ts";
import { cursorBehind, endOf, type Range, rangeAt, rangeBehind } from "./pages.ts";
import { EtcdTimers } from "./timers.ts";
import { EtcdWatches } from "./watch.ts";

/** A store in etcd. `query()` lists all locks under the prefix, in the order of the names' bytes. */
export type EtcdStore = ListingStore;

/**
 * Returns a store in etcd, over the JSON gateway of its members. Nothing is sent before the first call.
 *
 * **A dead holder.** A caller succeeds it after it has itself seen no renewal for a whole lease, or when a timer in
 * etcd is over that was started for the last renewal or by another caller. A timer is a key under a lease of etcd that
 * nobody keeps alive. No clock of a process is compared with another clock.
 *
 * **Faults.** A call goes to the next member at once if a member answers that it did nothing, or cannot be reached. A
 * fault that no retry mends (a missing role, a wrong password, a full database) is a `StoreError` that is `permanent`
 * and names the command to run.
 *
 * **Waiting.** Each waiting name takes a watch, which is a connection; beyond 16 of them waiters poll. Holders that
 * have read `lock.signal` are polled for once a second, up to 100 with one request.
 *
 * @example
 * ```ts ignore
 * import { acquire } from "@holdfast/lock";
 * import { etcd } from "@holdfast/lock/etcd";
 *
 * const store = etcd({ endpoints: ["https://etcd.example.com:2379"], username: "app", password: "…" });
 * await using lock = await acquire(store, "nightly-report", { wait: 1_000 });
 * ```
 *
 * @param options the members, the user, a prefix, and an observer
 * @throws {TypeError} when an endpoint is no URL, or an option is unknown or of the wrong kind
 * @throws {RangeError} when there is no endpoint, or the prefix is empty
 */
export function etcd(options: EtcdOptions): EtcdStore {
  const settings = checkEtcdOptions(options);
  const clock = new SystemClock();
  const backend = new EtcdBackend(new EtcdGateway(settings, clock), settings.prefix, clock);
  return casOf(backend, settings.engine, backend);
}

const ABSENT = "0";

/** Keeps documents in etcd. A version is the revision of the write, as a text: it may be above 2^53. */
export class EtcdBackend implements Backend<string> {
  readonly timers: EtcdTimers;
  readonly #gateway: EtcdGateway;
  readonly #prefix: string;
  readonly #watches: EtcdWatches;

  constructor(gateway: EtcdGateway, prefix: string, clock: Clock) {
    this.#gateway = gateway;
    this.#prefix = prefix;
    this.timers = new EtcdTimers(gateway, prefix);
    this.#watches = new EtcdWatches(gateway, clock);
  }

  /** Reads with the agreement of a majority: a member that is cut off does not answer. */
  async read(name: string): Promise<FoundDocument<string>> {
    return foundIn(await this.#gateway.call<RangeResult>("/v3/kv/range", { key: this.#keyOf(name) }));
  }

  async write(name: string, value: string, version: string): Promise<WriteResult<string>> {
    const key = this.#keyOf(name);
    const result = await this.#gateway.call<TransactionResult>("/v3/kv/txn", {
      compare: [unchanged(key, version)],
      success: [{ request_put: { key, value: base64Of(value) } }],
      failure: [{ request_range: { key } }],
    });
    if (result.succeeded) return { written: true, version: checkRevision(result.header.revision) };
    return { written: false, found: foundIn(rangeIn(result, 0)) };
  }

  async remove(documents: readonly KeyVersion<string>[]): Promise<number> {
    const success = documents.map(({ key: name, version }) => {
      const key = this.#keyOf(name);
      return { request_txn: { compare: [unchanged(key, version)], success: [{ request_delete_range: { key } }] } };
    });
    const { responses = [] } = await this.#gateway.call<TransactionResult>("/v3/kv/txn", { success });
    return responses.filter(({ response_txn }) => response_txn?.succeeded).length;
  }

  async list(limit: number, cursor?: string): Promise<ListedDocuments<string>> {
    const found: KeyValue[] = [];
    let range: Range | undefined = rangeAt(cursor, this.#prefix);
    for (; range !== undefined && found.length < limit; range = rangeBehind(range, this.#prefix)) {
      const { kvs = [] } = await this.#gateway.call<RangeResult>("/v3/kv/range", {
        key: btoa(range.from),
        range_end: btoa(endOf(range)),
        limit: limit - found.length,
      });
      found.push(...kvs);
    }
    const documents = found.map((each) => {
      return { key: textOfBase64(each.key).slice(this.#prefix.length), ...foundIn({ kvs: [each] }) };
    });
    return { documents, cursor: found.length < limit ? undefined : cursorBehind(found.map(({ key }) => key)) };
  }

  async watch(
    name: string,
    version: string,
    signal: AbortSignal,
    options: WatchOptions,
  ): Promise<WatchedDocument<string> | undefined> {
    const event = await this.#watches.watch(this.#keyOf(name), BigInt(version) + 1n, signal, options);
    return event && foundIn({ kvs: event.type === "DELETE" ? [] : [event.kv] });
  }

  #keyOf(name: string): string {
    return base64Of(this.#prefix + name);
  }
}

function unchanged(key: string, version: string): object {
  return { key, target: "MOD", result: "EQUAL", mod_revision: version };
}

function foundIn({ kvs: [found] = [] }: RangeResult): FoundDocument<string> {
  if (found === undefined) return { value: undefined, version: ABSENT };
  return { value: textOfBase64(found.value ?? ""), version: checkRevision(found.mod_revision) };
}

/** Checks a revision, a text of digits, and returns it. */
function checkRevision(revision: unknown): string {
  if (typeof revision === "string" && /^\d+$/.test(revision)) return revision;
  throw lacking("revision");
}
