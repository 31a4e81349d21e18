import { base64Of } from "../../internal/base64.ts";
import type { ServerTimers } from "../../engine/mod.ts";
import { type EtcdGateway, lacking } from "./gateway.ts";

/** The byte after the prefix in the keys of timers: it is not UTF-8, so that no lock has such a key. */
const MARK = "\xff";

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

  /** Counts the keys. A time to live proves nothing: it comes from the leader's memory. */
  async areOver(names: readonly string[]): Promise<boolean[]> {
    const ranges = await this.#gateway.ranges(names.map((name) => ({ key: this.#keyOf(name), count_only: true })));
    return ranges.map(({ count = "0" }) => count === "0");
  }

  #keyOf(name: string): string {
    return btoa(atob(base64Of(this.#prefix)) + MARK + name);
  }
}
