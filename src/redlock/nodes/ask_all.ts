import type { Nodes } from "./nodes.ts";
import { type Answer, isComplete } from "./answers.ts";

/** How long nodes may take for a request about many locks, in milliseconds. */
const LIMIT_MS = 10_000;

/** A usual lease: once a majority has answered, the other nodes get the time-out of this lease. */
const USUAL = { lease: 30_000 };

/** Resolves to all answers: after a majority the others get the usual time-out. Rejects when too many nodes fail. */
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
 * Resolves to the answer of one node, or to its failure. Rejects when it fails and too many nodes have failed before.
 *
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
