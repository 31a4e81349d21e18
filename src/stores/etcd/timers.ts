import { base64Of } from "../../internal/base64.ts";
import type { ServerTimers } from "../../engine/mod.ts";
import { type EtcdGateway, lacking } from "./gateway.ts";

/** The byte after the prefix in the keys of timers: it is not UTF-8, so that no lock has such a key. */
const MARK = "\xff";

/** How many keys a request reads: by default a member takes 128 operations in one (`--max-txn-ops`). */
const MOST_KEYS = 100;

interface CountResult {
  readonly responses?: readonly { readonly "response_range"?: { readonly count?: string } }[];
}

/** Returns the first key after the keys of all locks, in base64: the key of a timer without a name. */
export function endOfLocks(prefix: string): string {
  return btoa(atob(base64Of(prefix)) + MARK);
}

/**
 * Timers in etcd: each is a key that is bound to a lease of its own. The lease is never kept alive. etcd agrees on the
 * grant of a lease, but prolongs it in the memory of its leader: a stuck leader ends a lease that another member has
 * prolonged.
 */
export class EtcdTimers implements ServerTimers {
  readonly #gateway: EtcdGateway;
  readonly #prefix: string;

  constructor(gateway: EtcdGateway, prefix: string) {
    this.#gateway = gateway;
    this.#prefix = prefix;
  }

  async start(ms: number, signal: AbortSignal): Promise<string> {
    const seconds = Math.ceil(ms / 1_000);
    const { ID, TTL } = await this.#gateway.call<{ readonly ID?: string; readonly TTL?: string }>(
      "/v3/lease/grant",
      { TTL: seconds },
      signal,
    );
    if (ID === undefined || !(Number(TTL) >= seconds)) throw lacking("lease");
    const name = crypto.randomUUID();
    // Without a value: it is there, or it is not.
    await this.#gateway.call("/v3/kv/put", { key: this.#keyOf(name), lease: ID }, signal);
    return name;
  }

  async areOver(names: readonly string[]): Promise<boolean[]> {
    const over: boolean[] = [];
    for (let first = 0; first < names.length; first += MOST_KEYS) {
      over.push(...await this.#areGone(names.slice(first, first + MOST_KEYS)));
    }
    return over;
  }

  /** Reads with the agreement of a majority. A time to live proves nothing: it comes from the leader's memory. */
  async #areGone(names: readonly string[]): Promise<boolean[]> {
    const success = names.map((name) => ({ request_range: { key: this.#keyOf(name), count_only: true } }));
    const { responses } = await this.#gateway.call<CountResult>("/v3/kv/txn", { success });
    return names.map((_, i) => {
      const range = responses?.[i]?.response_range;
      if (range === undefined) throw lacking("range");
      return range.count === undefined || range.count === "0";
    });
  }

  #keyOf(name: string): string {
    return btoa(atob(endOfLocks(this.#prefix)) + name);
  }
}
