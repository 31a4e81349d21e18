import type { Nodes } from "./nodes.ts";
import { type Answer, isComplete } from "./answers.ts";

/** How long nodes may take for what concerns many locks, in milliseconds. */
const LIMIT_MS = 10_000;

/** The lease whose node time-out is how long the other nodes are waited for once a majority has answered: the usual one. */
const USUAL = { lease: 30_000 };

/**
 * Resolves to what all nodes have answered. Once a majority has, the others are waited for no longer than a node may
 * usually take; those that do not answer have failed. Rejects when too many fail.
 *
 * @param what what they are asked to do, for the error
 * @param calls one for each node
 */
export async function gather<T>(
  nodes: Nodes,
  what: string,
  calls: readonly Promise<T>[],
): Promise<readonly Answer<T>[]> {
  const most = calls.length - nodes.needed;
  const answers = await nodes.poll(USUAL, calls, (answers) => {
    if (count(answers, "failed") > most) throw nodes.failure(what, answers);
    return count(answers, "answered") >= nodes.needed ? [...answers] : undefined;
  }, { timeout: LIMIT_MS });
  if (isComplete(answers)) return answers;
  return await nodes.poll(USUAL, calls, (answers) => isComplete(answers) ? [...answers] : undefined);
}

/**
 * Resolves to what one node has answered, or how it has failed. Rejects when it fails and too many have failed before.
 *
 * @param what what it is asked to do, for the error
 * @param i its index
 * @param call the call
 * @param failed the indices of the nodes that have failed before
 */
export async function gatherOne<T>(
  nodes: Nodes,
  what: string,
  i: number,
  call: Promise<T>,
  failed: readonly number[],
): Promise<Answer<T>> {
  const settled = ([answer]: readonly Answer<T>[]) => answer!.state === "pending" ? undefined : answer;
  const answer = await nodes.poll(USUAL, [call], settled, { indices: [i], timeout: LIMIT_MS });
  const { length } = nodes.list;
  if (answer.state === "failed" && failed.length >= length - nodes.needed) {
    throw nodes.failure(what, nodes.list.map((_, j) => i === j ? answer : { state: "pending" }));
  }
  return answer;
}

function count(answers: readonly Answer<unknown>[], wanted: Answer<unknown>["state"]): number {
  return answers.filter(({ state }) => state === wanted).length;
}
