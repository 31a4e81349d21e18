import { show } from "../../../internal/validation.ts";
import { StoreError } from "../../../contract/errors.ts";
import { checkQuery, nameFilter } from "../../../internal/listing/query_options.ts";
import { reason } from "../../../internal/reason.ts";
import type { QueryOptions, Snapshot } from "../../../contract/store.ts";
import type { RedisPort, SearchedMaster } from "../clients/port.ts";
import { decodeList } from "../commands/values.ts";
import type { KeySpace } from "../keys/keys.ts";
import { explain } from "../refusals/server_error.ts";

interface SearchPosition {
  /** The address of the master in a Cluster; empty without one. */
  readonly address: string;
  readonly pattern: number;
  readonly scan: string;
}

/** The largest cursor of SCAN, which has 64 bits. */
const MAX_SCAN = 2n ** 64n - 1n;

function encodeCursor({ pattern, scan, address }: SearchPosition): string {
  return `${pattern}:${scan}:${address}`;
}

/** Decodes a caller's cursor. Throws a `RangeError` unless {@linkcode encodeCursor} has made it. */
function decodeCursor(cursor: string): SearchPosition {
  const [, pattern, scan = "", address = ""] = /^([01]):(\d{1,20}):(.*)$/s.exec(cursor) ?? [];
  if (pattern === undefined || BigInt(scan) > MAX_SCAN) {
    throw new RangeError(`cursor must be one that query() has returned: got ${show(cursor)}`);
  }
  return { pattern: Number(pattern), scan, address };
}

/** Returns the position before the first key of a master, if there is one. */
function startOf(master: SearchedMaster | undefined): SearchPosition | undefined {
  return master && { address: master.address, pattern: 0, scan: "0" };
}

/** How many keys the server checks in one step, which takes a small part of a millisecond. */
const COUNT = 1_000;

/** The largest number of steps for one page, so that no page takes long where few keys are keys of locks. */
const CALLS = 100;

/** The largest number of `*` in a pattern for the server: with more it may take long to compare a name. */
const STARS = 2;

/** A search for locks on the servers of a client, with SCAN, which iterates over the keys in small steps. */
class Search {
  readonly #port: RedisPort;
  readonly #keys: KeySpace;
  readonly #isWanted: (name: string) => boolean;
  /** The patterns of the keys: first of the queues, since a lock may have waiters only. */
  readonly #patterns: readonly string[];
  /** The masters, in a fixed order. */
  readonly #masters: readonly SearchedMaster[];

  constructor(port: RedisPort, keys: KeySpace, options: QueryOptions) {
    this.#port = port;
    this.#keys = keys;
    this.#isWanted = nameFilter(options);
    this.#patterns = patternsFor(keys, options.match ?? "*");
    this.#masters = port.masters().toSorted((a, b) => a.address < b.address ? -1 : 1);
  }

  /** Finds all names: on all masters at the same time. */
  async all(): Promise<ReadonlySet<string>> {
    const found = await Promise.all(this.#masters.map(async (master) => {
      const names = new Set<string>();
      let place = startOf(master);
      while (place?.address === master.address) place = await this.#step(place, COUNT, names);
      return [...names];
    }));
    return new Set(found.flat());
  }

  /**
   * Finds about as many names as the limit says, from a position on: one master after the other. Resolves to the names,
   * and to the position where the search continues, unless it is over.
   */
  async page(limit: number, from = startOf(this.#masters[0])): Promise<[Set<string>, SearchPosition | undefined]> {
    const names = new Set<string>();
    const calls = limit === Infinity ? Infinity : CALLS;
    let place = from;
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
    return [names, place];
  }

  /** Scans some keys of a server, and adds the names found. Returns where the search continues. */
  async #step(place: SearchPosition, count: number, names: Set<string>): Promise<SearchPosition | undefined> {
    const at = this.#masters.findIndex(({ address }) => address === place.address);
    if (at < 0) {
      throw new StoreError(
        `the master ${JSON.stringify(place.address)} that the cursor names is gone: list the locks from the start`,
        { permanent: true },
      );
    }
    const pattern = this.#patterns[place.pattern]!;
    const reply = this.#masters[at]!.scan(place.scan, pattern, count);
    const [scan, keys] = decodeList(await reply.catch((error) => Promise.reject(failure(error, this.#port))));
    for (const key of decodeList(keys)) {
      const name = this.#keys.nameOf(String(key));
      if (name !== undefined && this.#isWanted(name)) names.add(name);
    }
    if (String(scan) !== "0") return { ...place, scan: String(scan) };
    if (place.pattern + 1 < this.#patterns.length) return { ...place, pattern: place.pattern + 1, scan: "0" };
    return startOf(this.#masters[at + 1]);
  }
}

/** Returns how many keys probably hold so many names; at first each key may be a lock, so that no page is too long. */
function expectedKeys(names: number, examined: number, found: number): number {
  const missing = Math.min(names, COUNT);
  return Math.min(COUNT, Math.ceil(missing * (examined + missing) / (found + missing)));
}

/** Returns the patterns for the keys of queues and of locks whose names match; they may match a few more keys. */
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

/** Returns the error of a failed search: a search changes nothing, so nothing was done. */
function failure(error: unknown, port: RedisPort): StoreError {
  if (error instanceof StoreError) return error;
  const words = reason(error);
  const { message, permanent } = port.isReply(error) ? explain(port, words) : { message: words, permanent: false };
  return new StoreError(message, { cause: error, permanent });
}

const BATCH = 100;

/** Lists the locks that have a holder or a waiter. Without a name, SCAN goes over the keys in small steps. */
export async function query(
  port: RedisPort,
  keys: KeySpace,
  listEntries: (name: string) => Promise<Snapshot>,
  options?: QueryOptions,
): Promise<Snapshot> {
  const { name, match, limit, cursor } = checkQuery(options);
  const from = cursor === undefined ? undefined : decodeCursor(cursor);
  const only = name ?? (match?.includes("*") ? undefined : match);
  if (only !== undefined) return await entriesOf(only === "" ? [] : [only], listEntries);
  const search = new Search(port, keys, { match });
  if (limit === undefined && from === undefined) return await entriesOf(await search.all(), listEntries);
  const [names, next] = await search.page(limit ?? Infinity, from);
  const page = await entriesOf(names, listEntries);
  return next === undefined ? page : { ...page, cursor: encodeCursor(next) };
}

async function entriesOf(names: Iterable<string>, listEntries: (name: string) => Promise<Snapshot>): Promise<Snapshot> {
  const all = [...names];
  const snapshots: Snapshot[] = [];
  for (let i = 0; i < all.length; i += BATCH) {
    snapshots.push(...await Promise.all(all.slice(i, i + BATCH).map(listEntries)));
  }
  return { held: snapshots.flatMap(({ held }) => held), pending: snapshots.flatMap(({ pending }) => pending) };
}
