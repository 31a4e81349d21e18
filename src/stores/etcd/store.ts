import { base64Of, textOfBase64 } from "../../internal/base64.ts";
import { show } from "../../internal/validation.ts";
import { type Clock, SystemClock } from "../../internal/time/clock.ts";
import type { EvictOptions, QueryOptions, Snapshot, Store } from "../../store.ts";
import {
  type Backend,
  cas,
  type FoundDocument,
  type ListedDocuments,
  type WatchedDocument,
  type WriteResult,
} from "../cas/mod.ts";
import { EtcdGateway, type KeyValue } from "./gateway.ts";
import { checkEtcdOptions, type EtcdOptions } from "./options.ts";
import { EtcdWatches } from "./watch.ts";

/** A store in etcd. */
export interface EtcdStore extends Store {
  /** Takes the lock from all its holders, or from those that are named. Resolves to how many lost it. */
  evict(name: string, options?: EvictOptions): Promise<number>;
  /** Lists the holders and the waiters of all locks under the prefix, in the order of the names' bytes. */
  query(options?: QueryOptions): Promise<Snapshot>;
}

/**
 * Returns a store in etcd, over the JSON gateway of its members. Nothing is sent before the first call.
 *
 * **Clocks.** No lease of etcd ends a lock: leases go by the clocks of the processes. A waiter succeeds a dead holder when
 * it has itself seen for a whole lease that this did not renew; `tryAcquire`, which does not wait, `maxClockSkew` after
 * the lease has ended. If a clock is wrong by more than that, two callers may believe for a moment that they hold the
 * lock; the fence orders them.
 *
 * **Faults.** A call goes to the next member at once if one says that it did nothing, or cannot be reached. What no retry
 * mends (a missing role, a wrong password, a full database) is a `StoreError` that is `permanent` and names the command to
 * run.
 *
 * **Waiting.** Each waiting name takes a watch, which is a connection; beyond 16 of them waiters poll.
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
 * @param options the members, the user, a prefix, an observer, and how far clocks may be apart
 * @throws {TypeError} when an endpoint is no URL, or an option is unknown or of the wrong kind
 * @throws {RangeError} when there is no endpoint, the prefix is empty, or `maxClockSkew` is negative
 */
export function etcd(options: EtcdOptions): EtcdStore {
  const { engine, prefix, ...settings } = checkEtcdOptions(options);
  const clock = new SystemClock();
  const gateway = new EtcdGateway({ engine, prefix, ...settings }, clock);
  // A backend that lists gives a store with both methods.
  return cas(new EtcdBackend(gateway, prefix, clock), engine) as EtcdStore;
}

/** The answer to a range request. etcd leaves out fields that are empty. */
interface RangeResult {
  readonly kvs?: readonly KeyValue[];
  readonly more?: boolean;
}

interface TransactionResult {
  readonly header: { readonly revision: string };
  readonly succeeded?: boolean;
  readonly responses?: readonly { readonly "response_range"?: RangeResult }[];
}

/** The revision of a key that is not there. */
const ABSENT = "0";

/** Keeps documents in etcd. A version is the revision of the write, as a text: it may be above 2^53. */
export class EtcdBackend implements Backend<string> {
  readonly #gateway: EtcdGateway;
  readonly #prefix: string;
  readonly #watches: EtcdWatches;

  /** Sends nothing before the first call. */
  constructor(gateway: EtcdGateway, prefix: string, clock: Clock) {
    this.#gateway = gateway;
    this.#prefix = prefix;
    this.#watches = new EtcdWatches(gateway, clock);
  }

  /** Reads with the agreement of a majority: a member that is cut off does not answer. */
  async read(name: string): Promise<FoundDocument<string>> {
    return foundIn(await this.#gateway.call<RangeResult>("/v3/kv/range", { key: this.#keyOf(name) }));
  }

  async write(name: string, value: string, version: string): Promise<WriteResult<string>> {
    const key = this.#keyOf(name);
    const { succeeded = false, header, responses } = await this.#transact(key, version, {
      success: [{ request_put: { key, value: base64Of(value) } }],
      failure: [{ request_range: { key } }],
    });
    if (succeeded) return { written: true, version: header.revision };
    return { written: false, found: foundIn(responses![0]!.response_range!) };
  }

  async remove(name: string, version: string): Promise<boolean> {
    const key = this.#keyOf(name);
    return (await this.#transact(key, version, { success: [{ request_delete_range: { key } }] })).succeeded ?? false;
  }

  async list(limit: number, cursor?: string): Promise<ListedDocuments<string>> {
    const { kvs = [], more = false } = await this.#gateway.call<RangeResult>("/v3/kv/range", {
      key: cursor === undefined ? base64Of(this.#prefix) : keyAfter(cursor, this.#prefix),
      range_end: endOf(this.#prefix),
      limit,
    });
    const documents = kvs.map((each) => {
      return { key: textOfBase64(each.key).slice(this.#prefix.length), ...foundIn({ kvs: [each] }) };
    });
    return { documents, cursor: more ? kvs.at(-1)?.key : undefined };
  }

  async watch(name: string, version: string, signal: AbortSignal): Promise<WatchedDocument<string> | undefined> {
    const event = await this.#watches.watch(this.#keyOf(name), BigInt(version) + 1n, signal);
    return event && foundIn({ kvs: event.type === "DELETE" ? [] : [event.kv] });
  }

  /** Runs one branch if the key has this version, else the other one. */
  #transact(key: string, version: string, branches: object): Promise<TransactionResult> {
    const compare = [{ key, target: "MOD", result: "EQUAL", mod_revision: version }];
    return this.#gateway.call("/v3/kv/txn", { compare, ...branches });
  }

  #keyOf(name: string): string {
    return base64Of(this.#prefix + name);
  }
}

function foundIn({ kvs: [found] = [] }: RangeResult): FoundDocument<string> {
  if (found === undefined) return { value: undefined, version: ABSENT };
  return { value: textOfBase64(found.value ?? ""), version: found.mod_revision };
}

/** Returns the first key behind all that begin with a prefix. UTF-8 has no byte that is the largest one. */
function endOf(prefix: string): string {
  const bytes = atob(base64Of(prefix));
  return btoa(bytes.slice(0, -1) + String.fromCharCode(bytes.charCodeAt(bytes.length - 1) + 1));
}

/** Returns the first key behind another one, which must have the prefix. */
function keyAfter(cursor: string, prefix: string): string {
  try {
    const key = atob(cursor);
    if (key.startsWith(atob(base64Of(prefix)))) return btoa(`${key}\0`);
  } catch {
    // It is no base64.
  }
  throw new RangeError(`cursor must be one that query() has returned: got ${show(cursor)}`);
}
