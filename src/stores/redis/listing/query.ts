import { checkQuery } from "../../../internal/listing/query_options.ts";
import type { QueryOptions, Snapshot } from "../../../store.ts";
import type { RedisPort } from "../clients/port.ts";
import type { KeySpace } from "../keys/key_space.ts";
import { Search } from "./search.ts";
import { decodeCursor, encodeCursor } from "./search_position.ts";

/** How many locks are looked at in one go. */
const BATCH = 100;

/**
 * Lists the locks that have a holder or a waiter. Never blocks a server: unless the name is given, SCAN goes through its
 * keys in small steps.
 *
 * @param port the client; of a Cluster, all masters are asked
 * @param keys the keys of the locks
 * @param listEntries asks the server about the lock of a name
 * @param options which locks are listed
 */
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
  const { names, next } = await search.page(limit ?? Infinity, from);
  const page = await entriesOf(names, listEntries);
  return next === undefined ? page : { ...page, cursor: encodeCursor(next) };
}

/** Lists the locks of these names. */
async function entriesOf(names: Iterable<string>, listEntries: (name: string) => Promise<Snapshot>): Promise<Snapshot> {
  const all = [...names];
  const snapshots: Snapshot[] = [];
  for (let i = 0; i < all.length; i += BATCH) {
    snapshots.push(...await Promise.all(all.slice(i, i + BATCH).map(listEntries)));
  }
  return { held: snapshots.flatMap(({ held }) => held), pending: snapshots.flatMap(({ pending }) => pending) };
}
