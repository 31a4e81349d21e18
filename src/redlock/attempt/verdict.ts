import { type Answer, valueOf } from "../nodes/answers.ts";
import type { Vote } from "../../contract/quorum_node.ts";

/** How long a handle with the coordinator's grant may gather other votes, in milliseconds, before others may ask. */
const GATHERING_MS = 1_000;

/** Returns how many of `n` nodes are a majority: any two majorities have a node in common. */
export function quorum(n: number): number {
  return Math.floor(n / 2) + 1;
}

export type Verdict =
  /** A majority has granted and raised its counters from below the guess, which is the fence. */
  | "granted"
  /** A majority has granted, but some counters were higher: a fence above them must be confirmed. */
  | "confirm"
  /** Too many nodes have refused. */
  | "busy"
  /** Too many nodes have failed for any majority. */
  | "failed";

/** The votes of a round, as numbers of nodes; missing votes are pending. */
export interface VoteTally {
  readonly nodes: number;
  readonly granted: number;
  /** How many of the granting nodes raised their counters from below the guess. */
  readonly raised: number;
  readonly busy: number;
  readonly failed: number;
}

/** Returns the outcome of a round as soon as it is certain, so that no caller waits for a node that hangs. */
export function verdict({ nodes, granted, raised, busy, failed }: VoteTally): Verdict | undefined {
  const majority = quorum(nodes);
  if (raised >= majority) return "granted";
  if (granted >= majority) return "confirm";
  if (failed > nodes - majority) return "failed";
  if (busy + failed > nodes - majority) return "busy";
  return undefined;
}

/**
 * Returns whether a refusal of the coordinator ends the attempt, whatever the other nodes would grant: another handle
 * is ahead, or may be getting their votes. Otherwise it counts like a refusal of another node: perhaps no majority has
 * the lock for which it refuses.
 */
export function endsAttempt(vote: Vote | undefined): vote is Vote & { granted: false } {
  return vote?.granted === false && (vote.heldFor ?? 0) < GATHERING_MS;
}

/** Returns the outcome of votes as soon as it is certain. */
export function verdictOf(answers: readonly Answer<Vote>[], coordinator: number): Verdict | undefined {
  const vote = valueOf(answers[coordinator]!);
  if (endsAttempt(vote)) return "busy";
  const votes = answers.flatMap((answer) => valueOf(answer) ?? []);
  const granted = votes.filter((vote) => vote.granted);
  const decided = verdict({
    nodes: answers.length,
    granted: granted.length,
    raised: granted.filter(({ raised }) => raised).length,
    busy: votes.length - granted.length,
    failed: answers.filter(({ state }) => state === "failed").length,
  });
  // It waits in the queue while too many nodes fail.
  return decided === "failed" && vote?.granted === false ? "busy" : decided;
}
