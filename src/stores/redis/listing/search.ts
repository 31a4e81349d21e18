import { StoreError } from "../../../errors.ts";
import { nameFilter } from "../../../internal/listing/query_options.ts";
import { reason } from "../../../internal/reason.ts";
import type { QueryOptions } from "../../../store.ts";
import type { RedisPort, SearchedMaster } from "../clients/port.ts";
import type { KeySpace } from "../keys/key_space.ts";
import { rightsOf } from "../refusals/rights.ts";
import { explain } from "../refusals/server_error.ts";
import type { SearchPosition } from "./search_position.ts";

/** How many keys the server looks at in one go: a small part of a millisecond. */
const COUNT = 1_000;

/** How often the server is asked for one page at most, so that no page takes long where hardly a key is one of a lock. */
const CALLS = 100;

/** How many `*` of a pattern the server is given: with more it may take long to compare a name. */
const STARS = 2;

/** Names that were found, and where the search goes on; without `next` it is over. */
export interface Found {
  readonly names: ReadonlySet<string>;
  readonly next: SearchPosition | undefined;
}

/** Searches the servers of a client for locks, with SCAN, which goes through the keys in small steps. */
export class Search {
  readonly #keys: KeySpace;
  readonly #isWanted: (name: string) => boolean;
  /** The patterns of the keys: first those of the queues, since a lock may have waiters only. */
  readonly #patterns: readonly string[];
  /** In an order that does not change. */
  readonly #masters: readonly SearchedMaster[];
  readonly #fail: (error: unknown) => never;

  /**
   * Prepares a search.
   *
   * @param port the client; of a Cluster, all masters are searched
   * @param keys the keys of the locks
   * @param options which names are wanted
   */
  constructor(port: RedisPort, keys: KeySpace, options: QueryOptions) {
    this.#keys = keys;
    this.#isWanted = nameFilter(options);
    this.#patterns = patternsFor(keys, options.match ?? "*");
    this.#masters = port.masters().toSorted((a, b) => a.address < b.address ? -1 : 1);
    this.#fail = (error) => {
      throw failure(error, port);
    };
  }

  /** Finds all names: on all masters at the same time. */
  async all(): Promise<ReadonlySet<string>> {
    const found = await Promise.all(this.#masters.map(async ({ address }) => {
      const names = new Set<string>();
      let place: SearchPosition | undefined = { address, pattern: 0, scan: "0" };
      while (place?.address === address) place = await this.#step(place, COUNT, names);
      return names;
    }));
    return new Set(found.flatMap((names) => [...names]));
  }

  /** Finds about as many names as the limit says, from a position on: one master after the other. */
  async page(limit: number, from: SearchPosition | undefined): Promise<Found> {
    const names = new Set<string>();
    const calls = limit === Infinity ? Infinity : CALLS;
    let place = from ?? this.#start();
    // How many keys were looked at for this pattern on this master, and how many names were found there.
    let [examined, found] = [0, 0];
    for (let i = 0; place !== undefined && names.size < limit && i < calls; i++) {
      const { size } = names;
      const count = expectedKeys(limit - size, examined, found);
      const next = await this.#step(place, count, names);
      const isSame = next?.address === place.address && next.pattern === place.pattern;
      [examined, found] = isSame ? [examined + count, found + names.size - size] : [0, 0];
      place = next;
    }
    return { names, next: place };
  }

  #start(): SearchPosition | undefined {
    const [first] = this.#masters;
    return first && { address: first.address, pattern: 0, scan: "0" };
  }

  /** Scans so many keys of a server, and adds the names that it finds. Returns where the search goes on. */
  async #step(place: SearchPosition, count: number, names: Set<string>): Promise<SearchPosition | undefined> {
    const at = this.#masters.findIndex(({ address }) => address === place.address);
    if (at < 0) {
      throw new StoreError(
        `the master ${JSON.stringify(place.address)} that the cursor names is gone: list the locks from the start`,
        { permanent: true },
      );
    }
    const pattern = this.#patterns[place.pattern]!;
    const [scan, keys] = await this.#masters[at]!.scan(place.scan, pattern, count).catch(this.#fail);
    for (const key of keys) {
      const name = this.#keys.nameOf(key);
      if (name !== undefined && this.#isWanted(name)) names.add(name);
    }
    if (String(scan) !== "0") return { ...place, scan: String(scan) };
    if (place.pattern + 1 < this.#patterns.length) return { ...place, pattern: place.pattern + 1, scan: "0" };
    const next = this.#masters[at + 1];
    return next && { address: next.address, pattern: 0, scan: "0" };
  }
}

/** Returns how many keys are expected to hold so many names; at first each key may be one, so that no page is too long. */
function expectedKeys(names: number, examined: number, found: number): number {
  const missing = Math.min(names, COUNT);
  return Math.min(COUNT, Math.ceil(missing * (examined + missing) / (found + missing)));
}

/** Returns the patterns of the queues and of the locks' own keys whose names match a pattern, and of a few more. */
function patternsFor({ prefix, keyPrefix }: KeySpace, match: string): string[] {
  // The client puts its prefix before keys, but not before patterns.
  const [start, before] = [escape(keyPrefix), escape(prefix)];
  const name = globOf(match);
  return [`${start}{*${before}${name}${name.endsWith("*") ? "" : "*"}:queue`, `${start}${before}${name}`];
}

/** Returns a pattern of the server for names; it may match more names than are wanted. */
function globOf(match: string): string {
  const parts = match.replace(/\*+/g, "*").split("*").map(escape);
  return (parts.length - 1 > STARS ? [parts[0], parts.at(-1)] : parts).join("*");
}

/** Returns a pattern that matches only this text. */
function escape(text: string): string {
  return text.replace(/[*?[\]\\]/g, "\\$&");
}

/** Returns the error of a search that failed: a search changes nothing, so nothing was done. */
function failure(error: unknown, port: RedisPort): StoreError {
  if (error instanceof StoreError) return error;
  const words = reason(error);
  const { message, permanent } = port.isReply(error)
    ? explain(words, rightsOf(port.user))
    : { message: words, permanent: false };
  return new StoreError(message, { cause: error, permanent });
}
