import { checkQuery } from "../../internal/listing/query_options.ts";
import { show } from "../../internal/validation.ts";
import type { QueryOptions, Snapshot } from "../../contract/store.ts";
import { gather, gatherOne } from "../nodes/ask_all.ts";
import { merge } from "./merge.ts";
import type { Nodes } from "../nodes/nodes.ts";
import { valueOf } from "../nodes/answers.ts";

const WHAT = "list locks";

/** The start of a page: nodes are listed one after the other. */
interface Position {
  /** The index of the node whose names are listed. */
  readonly node: number;
  /** The node's own cursor; `undefined` for its first page. */
  readonly cursor: string | undefined;
  /** When the first page was requested, in milliseconds since the Unix epoch. */
  readonly began: number;
  /** The earlier nodes that failed, so that not all of their names were listed. */
  readonly failed: readonly number[];
}

/**
 * Lists the locks of a quorum: all at once, or in pages.
 *
 * The nodes have their names in different orders. A page therefore takes its names from one node, and asks all nodes
 * about each of them. A lock that is held on a majority is on at least one node that did not fail; a waiter is on its
 * own node. The names of a later node are left out if an earlier node has had them since before the first page, because
 * they were listed then. Younger names may come twice.
 */
export async function query(
  nodes: Nodes,
  options: QueryOptions | undefined,
  maxClockSkew: number,
): Promise<Snapshot> {
  const checked = checkQuery(options);
  const { name, match, limit, cursor } = checked;
  if (name !== undefined) return merge(await ask(nodes, { name }), nodes.needed);
  if (limit === undefined && cursor === undefined) return merge(await ask(nodes, { match }), nodes.needed);
  let page = await pageAt(nodes, checked, positionOf(cursor, nodes), maxClockSkew);
  const held = [...page.held];
  const pending = [...page.pending];
  while (limit === undefined && page.cursor !== undefined) {
    page = await pageAt(nodes, checked, positionOf(page.cursor, nodes), maxClockSkew);
    held.push(...page.held);
    pending.push(...page.pending);
  }
  return { ...page, held, pending };
}

/** Asks all nodes at the same time. Returns the listing of each; `undefined` for a node that failed. */
async function ask(nodes: Nodes, options: QueryOptions): Promise<(Snapshot | undefined)[]> {
  const calls = nodes.list.map(async (node) => await node.query!(options));
  return (await gather(nodes, WHAT, calls)).map(valueOf);
}

async function pageAt(
  nodes: Nodes,
  { match, limit }: QueryOptions,
  { node, cursor, began, failed }: Position,
  maxClockSkew: number,
): Promise<Snapshot> {
  const call = async () => await nodes.list[node]!.query!({ match, limit, cursor });
  const answer = await gatherOne(nodes, WHAT, node, call(), failed);
  const next = (position: Partial<Position>) =>
    cursorOf({ node: node + 1, cursor: undefined, began, failed, ...position }, nodes);
  if (answer.state !== "answered") return { held: [], pending: [], ...next({ failed: [...failed, node] }) };
  const found = answer.value;
  const names = new Set([...found.held, ...found.pending].map((entry) => entry.name));
  const snapshots = await lookAt(nodes, [...names], node, found);
  const before = snapshots.filter((_, i) => i < node && !failed.includes(i));
  for (const name of namesSince(before, began - maxClockSkew)) names.delete(name);
  const { held, pending } = merge(snapshots, nodes.needed);
  return {
    held: held.filter(({ name }) => names.has(name)),
    pending: pending.filter(({ name }) => names.has(name)),
    ...next(found.cursor === undefined ? {} : { node, cursor: found.cursor }),
  };
}

/** Returns the names that one of these listings has had since before a moment. */
function namesSince(snapshots: readonly (Snapshot | undefined)[], moment: number): string[] {
  const entries = snapshots.flatMap((snapshot) =>
    snapshot === undefined ? [] : [...snapshot.held, ...snapshot.pending]
  );
  return entries.flatMap(({ name, since }) => since !== undefined && since < moment ? [name] : []);
}

/** Asks the other nodes about the names that one node has listed. */
async function lookAt(
  nodes: Nodes,
  names: readonly string[],
  lister: number,
  found: Snapshot,
): Promise<(Snapshot | undefined)[]> {
  const calls = nodes.list.map(async (node, i): Promise<Snapshot> => {
    if (i === lister) return found;
    const snapshots = await Promise.all(names.map((name) => node.query!({ name })));
    return {
      held: snapshots.flatMap(({ held }) => held),
      pending: snapshots.flatMap(({ pending }) => pending),
    };
  });
  return (await gather(nodes, WHAT, calls)).map(valueOf);
}

function cursorOf({ node, cursor, began, failed }: Position, { list }: Nodes): Pick<Snapshot, "cursor"> {
  return node < list.length ? { cursor: JSON.stringify([node, cursor ?? null, began, failed]) } : {};
}

/** Reads the cursor of a page; `undefined` stands for the first page. */
function positionOf(text: string | undefined, { list, clock }: Nodes): Position {
  if (text === undefined) return { node: 0, cursor: undefined, began: clock.now().wall, failed: [] };
  const [node, cursor, began, failed] = parse(text);
  const isIndex = (value: unknown): value is number => Number.isInteger(value) && list[value as number] !== undefined;
  const isText = cursor === null || typeof cursor === "string";
  if (isIndex(node) && isText && typeof began === "number" && Array.isArray(failed) && failed.every(isIndex)) {
    return { node, cursor: cursor ?? undefined, began, failed };
  }
  throw new RangeError(`cursor must be one that query() has returned: got ${show(text)}`);
}

function parse(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}
