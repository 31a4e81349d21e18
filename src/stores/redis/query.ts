import { StoreError } from "../../errors.ts";
import type { Snapshot } from "../../store.ts";
import type { RedisClient } from "./client.ts";
import type { KeySpace } from "./key_space.ts";
import { rightsOf, userOf } from "./rights.ts";
import { explain, isReply } from "./server_error.ts";

/** How many keys the server looks at in one go: a small part of a millisecond. */
const COUNT = 1_000;

/** How many locks are looked at in one go. */
const BATCH = 100;

/**
 * Lists the locks that have a holder or a waiter. Never blocks a server: SCAN goes through its keys in small steps.
 *
 * @param client the client; of a Cluster, all masters are asked
 * @param keys the keys of the locks
 * @param look asks the server about the lock of a name
 */
export async function query(
  client: RedisClient,
  keys: KeySpace,
  look: (name: string) => Promise<Snapshot>,
): Promise<Snapshot> {
  const names = new Set<string>();
  const { prefix, keyPrefix } = keys; // The client puts its prefix before keys, but not before patterns.
  // A lock may have waiters only.
  const patterns = [escape(keyPrefix + prefix) + "*", `${escape(keyPrefix)}{*${escape(prefix)}*}*:queue`];
  const fail = (error: unknown) => {
    throw failure(error, userOf(client));
  };
  const find = async (node: Pick<RedisClient, "scan">, pattern: string) => {
    if (node.scan === undefined) throw new TypeError("client must have the method scan for a query");
    let cursor = "0";
    do {
      const [next, found] = await node.scan(cursor, "MATCH", pattern, "COUNT", COUNT).catch(fail);
      for (const key of found) {
        const name = keys.nameOf(key);
        if (name !== undefined) names.add(name);
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

/** Returns the error of a search that failed: a search changes nothing, so nothing was done. */
function failure(error: unknown, user: string): StoreError {
  const words = error instanceof Error ? error.message : String(error);
  const { message, permanent } = isReply(error) ? explain(words, rightsOf(user)) : { message: words, permanent: false };
  return new StoreError(message, { cause: error, permanent });
}

/** Returns a pattern that matches only this text. */
function escape(text: string): string {
  return text.replace(/[*?[\]\\]/g, "\\$&");
}
