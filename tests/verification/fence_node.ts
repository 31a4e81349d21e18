/** A node of the fence protocol, as the model has it. */
export interface Node {
  /** The owner in the lock key, or the last one: it may have expired. */
  readonly holder: number | undefined;
  readonly counter: number;
}

/** A block of fences; most have one. */
export interface Block {
  readonly start: number;
  readonly end: number;
}

/** What a node replied: YES is "granted and raised" or "confirmed", a number the counter that a vote has not raised. */
export type Reply = number;
export const YES = -1;

/** The protocol, and what is wrong with others. */
export interface Rules {
  /** Whether a node confirms a block that begins with a candidate. */
  readonly confirms: (own: boolean, counter: number, candidate: Block) => boolean;
  /** Whether a vote raises a counter, unless it is skewed. */
  readonly raises: (counter: number, guess: Block) => boolean;
  /** To what a counter is raised. */
  readonly keeps: (block: Block) => number;
  /** Whether a grant counts for the fence in one trip. */
  readonly counts: (raised: boolean) => boolean;
  /** Whether nodes lose their counters. */
  readonly forgets: boolean;
}

export const PROTOCOL: Rules = {
  confirms: (own, counter, { start }) => own && counter < start,
  raises: (counter, { start }) => counter < start,
  keeps: ({ end }) => end,
  counts: (raised) => raised,
  forgets: false,
};

/**
 * Returns what a vote makes of a node whose key is free or this owner's, and its reply. `skewed`: the block ends too
 * far ahead.
 */
export function vote(
  { counter }: Node,
  owner: number,
  guess: Block,
  skewed: boolean,
  rules: Rules = PROTOCOL,
): readonly [Node, Reply] {
  const raised = rules.raises(counter, guess) && !skewed;
  return [{ holder: owner, counter: raised ? Math.max(counter, rules.keeps(guess)) : counter }, raised ? YES : counter];
}

/** Returns what a candidate makes of a node; undefined if it does not confirm it. */
export function confirm(node: Node, owner: number, candidate: Block, rules: Rules = PROTOCOL): Node | undefined {
  if (!rules.confirms(node.holder === owner, node.counter, candidate)) return undefined;
  return { ...node, counter: Math.max(node.counter, rules.keeps(candidate)) };
}
