import { redlock } from "../../composed/redlock/mod.ts";
import type { Store } from "../../store.ts";
import { redis, type RedisClient } from "../../stores/redis/mod.ts";

/** A store of some clients, whose keys begin with a prefix. */
interface PrefixedStore {
  readonly clients: readonly RedisClient[];
  readonly prefix: string;
  readonly store: Store;
}

/** The stores by their first client: programs make a mutex for each lock, and those of one client share its store. */
const stores = new WeakMap<RedisClient, PrefixedStore[]>();

/** Returns the store of some clients, one on a majority of them if there are several. */
export function storeOf(clients: readonly RedisClient[], prefix: string): Store {
  // What is no client is for redis() to refuse.
  const known = stores.get(clients[0]!) ?? [];
  const same = ({ clients: others, prefix: other }: PrefixedStore) =>
    other === prefix && others.length === clients.length && others.every((each, i) => each === clients[i]);
  const found = known.find(same);
  if (found !== undefined) return found.store;
  const nodes = clients.map((client) => redis(client, { prefix }));
  const store = nodes.length === 1 ? nodes[0]! : redlock(nodes);
  stores.set(clients[0]!, [...known, { clients, prefix, store }]);
  return store;
}
