/** How many of `n` nodes are a majority: any two majorities have a node in common. */
export function quorum(n: number): number {
  return Math.floor(n / 2) + 1;
}

/**
 * The first of the nodes that coordinate the waiters of a name. It depends on the name (FNV-1a of its code units), so
 * that the queues of many names spread over the nodes.
 */
export function firstCoordinator(name: string, n: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193) >>> 0;
  return hash % n;
}

/** The nodes in the order in which they coordinate the waiters of a name: the first that lives has the queue. */
export function coordinators(name: string, n: number): number[] {
  const first = firstCoordinator(name, n);
  return Array.from({ length: n }, (_, i) => (first + i) % n);
}

/** The fence that a round hopes for: later than any that was seen, and than the clock, in milliseconds. */
export function guess(highest: bigint, wall: number): bigint {
  const clock = BigInt(Math.floor(wall * 1_000));
  return clock > highest ? clock : highest + 1n;
}

/** How a round of votes stands. */
export type Verdict =
  /** A majority has granted and raised its counters to the guess: that is the fence. */
  | "granted"
  /** A majority has granted, but some counters stood higher: a fence above them must be confirmed. */
  | "confirm"
  /** Too many nodes have refused. */
  | "busy"
  /** Too many nodes have failed for any majority. */
  | "failed";

/** The votes of a round, as numbers of nodes; those that are missing are still out. */
export interface Tally {
  readonly nodes: number;
  readonly granted: number;
  /** How many of those raised their counters to the guess. */
  readonly raised: number;
  readonly busy: number;
  readonly failed: number;
}

/** What a round comes to, as soon as that is certain: nobody waits for a node that hangs. */
export function verdict({ nodes, granted, raised, busy, failed }: Tally): Verdict | undefined {
  const majority = quorum(nodes);
  if (raised >= majority) return "granted";
  if (granted >= majority) return "confirm";
  if (failed > nodes - majority) return "failed";
  if (busy + failed > nodes - majority) return "busy";
  return undefined;
}

/** A fence above all counters that a majority of nodes has answered. */
export function candidate(counters: readonly bigint[]): bigint {
  return counters.reduce((highest, counter) => counter > highest ? counter : highest, 0n) + 1n;
}

/** How long a node may take to answer, in milliseconds: 1 % of the lease, at least 50 ms. */
export function nodeTimeout(lease: number): number {
  return Math.max(50, lease / 100);
}
