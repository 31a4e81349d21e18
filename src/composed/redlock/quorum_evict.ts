import { gather } from "./gather.ts";
import type { Nodes } from "./nodes.ts";
import { valueOf } from "./poll.ts";

/**
 * Revokes a lock on all nodes. Resolves to how many handles held it: as many as a majority had, where a node that failed
 * may have had any number. Rejects when too many fail.
 *
 * To the holder it is as if these nodes had lost the lock. A majority has lost it, so its next renewal is lost as well,
 * and the lock is restored nowhere. A renewal that has reached a majority just before may still restore it on one of the
 * others, where it stays until the holder releases it or its lease ends: no majority has it. The counters stay as they
 * are, so that the fence of the next holder is larger.
 *
 * @param nodes the nodes, all of which have `evict`
 * @param name the name of the lock
 */
export async function evict(nodes: Nodes, name: string): Promise<number> {
  const calls = nodes.list.map(async (node) => await node.evict!(name));
  const answers = await gather(nodes, `evict lock "${name}"`, calls);
  const counts = answers.map((answer) => valueOf(answer) ?? Infinity);
  return counts.sort((a, b) => b - a)[nodes.needed - 1]!;
}
