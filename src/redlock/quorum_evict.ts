import { checkEvict, isMeant, type Meant } from "../../internal/listing/eviction.ts";
import type { EvictOptions } from "../../store.ts";
import { gather } from "./nodes/ask_all.ts";
import type { Nodes } from "./nodes/nodes.ts";
import { valueOf } from "./nodes/answers.ts";
import type { QuorumNode } from "../../quorum_node.ts";
import { query } from "./listing/quorum_query.ts";
import { ownerOf } from "./attempt/round_id.ts";

/**
 * Revokes a lock on all nodes, from all its holders or from the one that is named. Resolves to how many handles held it:
 * as many as a majority had, where a node that failed may have had any number. Rejects when too many fail.
 *
 * To the holder it is as if these nodes had lost the lock. A majority has lost it, so its next renewal is lost as well,
 * and the lock is restored nowhere. A renewal that has reached a majority just before may still restore it on one of the
 * others, where it stays until the holder releases it or its lease ends: no majority has it. The counters stay as they
 * are, so that the fence of the next holder is larger.
 *
 * @param nodes the nodes, all of which have `evict`
 * @param name the name of the lock
 * @param options which holders are meant
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

/** Resolves to the holder that a majority lists with a fence: a handle has an owner of its own. */
async function ownerWith(nodes: Nodes, name: string, target: Meant): Promise<string | undefined> {
  // No clock matters where one name is listed.
  const { held } = await query(nodes, { name }, 0);
  return held.find((holder) => isMeant(target, holder))?.handle;
}

/** Revokes the lock that a node has granted to any round of an owner. */
async function evictOwner(node: QuorumNode, name: string, owner: string, options?: EvictOptions): Promise<number> {
  const { held } = await node.query!({ name });
  const rounds = held.filter(({ handle }) => ownerOf(handle) === owner);
  const evicted = rounds.map(({ handle }) => node.evict!(name, { meta: options?.meta, handle }));
  return Math.min(1, (await Promise.all(evicted)).reduce((sum, each) => sum + each, 0));
}
