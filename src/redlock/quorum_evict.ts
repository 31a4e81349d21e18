import { checkEvict, isMeant, type Meant } from "../internal/listing/eviction.ts";
import type { EvictOptions } from "../contract/store.ts";
import { gather } from "./nodes/ask_all.ts";
import type { Nodes } from "./nodes/nodes.ts";
import { valueOf } from "./nodes/answers.ts";
import type { QuorumNode } from "../contract/quorum_node.ts";
import { query } from "./listing/quorum_query.ts";
import { ownerOf } from "./attempt/round_id.ts";

/**
 * Revokes a lock on all nodes, from all its holders or from the named holder. Resolves to the number of handles that a
 * majority listed as holders; a node that failed may have had any number. Rejects when too many nodes fail.
 *
 * To the holder it seems that these nodes have lost the lock. A majority has lost it, so the next renewal is answered
 * *lost*, and the lock is restored nowhere. A renewal that has reached a majority just before may still restore the
 * lock on another node, where it stays until the holder releases it or its lease ends; but no majority has it. The
 * counters stay as they are, so that the fence of the next holder is larger.
 */
export async function evict(nodes: Nodes, name: string, options?: EvictOptions): Promise<number> {
  const { handle, fence } = checkEvict(options);
  const owner = fence === undefined ? handle : await ownerWith(nodes, name, { handle, fence });
  if (owner === undefined && fence !== undefined) return 0;
  const calls = nodes.list.map(async (node) => {
    return await (owner === undefined ? node.evict!(name, options) : evictOwner(node, name, owner, options));
  });
  const answers = await gather(nodes, `evict lock "${name}"`, calls);
  const counts = answers.map((answer) => valueOf(answer) ?? Infinity);
  return counts.sort((a, b) => b - a)[nodes.needed - 1]!;
}

/** Resolves to the owner of the holder that a majority lists with a fence: each handle has an owner of its own. */
async function ownerWith(nodes: Nodes, name: string, target: Meant): Promise<string | undefined> {
  // No clock matters where one name is listed.
  const { held } = await query(nodes, { name }, 0);
  return held.find((holder) => isMeant(target, holder))?.handle;
}

/** Revokes the lock that a node has granted to an owner, in any round. */
async function evictOwner(node: QuorumNode, name: string, owner: string, options?: EvictOptions): Promise<number> {
  const { held } = await node.query!({ name });
  const rounds = held.filter(({ handle }) => ownerOf(handle) === owner);
  const evicted = rounds.map(({ handle }) => node.evict!(name, { meta: options?.meta, handle }));
  return Math.min(1, (await Promise.all(evicted)).reduce((sum, each) => sum + each, 0));
}
