import { StoreError } from "../../errors.ts";
import type { Snapshot } from "../../store.ts";
import type { RedisClient } from "./client.ts";
import { lockOf } from "./keys.ts";

/** How many keys the server looks at in one go: a small part of a millisecond. */
const COUNT = 1_000;

/** How many locks are looked at in one go. */
const BATCH = 100;

/**
 * Finds the locks that are held or waited for, and looks at each. Never blocks a server: SCAN goes through the keys bit
 * by bit.
 *
 * @param client the client; of a Cluster, all masters are asked
 * @param prefix what stands before the name in a lock's key
 * @param keyPrefix what the client puts before every key, but not before a pattern
 * @param look asks the server about the lock of a name
 */
export async function query(
  client: RedisClient,
  prefix: string,
  keyPrefix: string,
  look: (name: string) => Promise<Snapshot>,
): Promise<Snapshot> {
  const names = new Set<string>();
  // A lock may be only waited for.
  const patterns = [escape(keyPrefix + prefix) + "*", `${escape(keyPrefix)}{*${escape(prefix)}*}*:queue`];
  const find = async (node: Pick<RedisClient, "scan">, pattern: string) => {
    if (node.scan === undefined) throw new TypeError("client must have the method scan for a query");
    let cursor = "0";
    do {
      const [next, keys] = await node.scan(cursor, "MATCH", pattern, "COUNT", COUNT).catch(fail);
      for (const lock of keys.map((key) => lockOf(key, keyPrefix))) {
        if (lock.startsWith(prefix) && lock !== prefix) names.add(lock.slice(prefix.length));
      }
      cursor = String(next);
    } while (cursor !== "0");
  };
  const nodes = client.isCluster ? client.nodes?.("master") ?? [client] : [client];
  await Promise.all(nodes.flatMap((node) => patterns.map((pattern) => find(node, pattern))));

  const held: Snapshot["held"][] = [];
  const pending: Snapshot["pending"][] = [];
  const all = [...names];
  for (let i = 0; i < all.length; i += BATCH) {
    for (const lock of await Promise.all(all.slice(i, i + BATCH).map(look))) {
      held.push(lock.held);
      pending.push(lock.pending);
    }
  }
  return { held: held.flat(), pending: pending.flat() };
}

/** Nothing is done by looking, so that nothing was. */
function fail(error: unknown): never {
  throw new StoreError(error instanceof Error ? error.message : String(error), { cause: error });
}

/** A text as a pattern that only it matches. */
function escape(text: string): string {
  return text.replace(/[*?[\]\\]/g, "\\$&");
}
