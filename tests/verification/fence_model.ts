import { candidate } from "../../src/redlock/attempt/fences.ts";
import { quorum, verdict } from "../../src/redlock/attempt/verdict.ts";
import { fenceOrder } from "./exclusion.ts";
import { type Exploration, explore, type Model, type Step } from "./explore.ts";
import { type Block, confirm, type Node, PROTOCOL, type Reply, type Rules, vote, YES } from "./fence_node.ts";

export interface Bounds {
  /** Where the counter of each node begins: what was before may have left them apart. */
  readonly counters: readonly number[];
  /**
   * How many rounds of votes there are, up to three. Each has its own owner id, and which of them are of one client
   * does not matter: three rounds are also two clients, one of which abandons its round and begins another.
   */
  readonly rounds: number;
  /** What a round may guess: whatever its clock says, and whatever it has seen. */
  readonly guesses: readonly number[];
  /** How many fences a round may ask for, from one to four; one when left out. */
  readonly lengths?: readonly number[];
  /** The first two rounds have one owner id on the first node, as those of a client that waits in its queue. */
  readonly keptPlace?: boolean;
}

/** No two acquires get one fence; an acquire that is called after another has returned gets only higher ones. */
export type Invariant = "unique" | "ordered";

const NONE = -2;

const PHASES = ["idle", "voting", "confirming", "returned"] as const;

interface Round {
  readonly phase: typeof PHASES[number];
  readonly guess: number;
  /** How many fences it asks for. */
  readonly length: number;
  /** The highest fence that an acquire had returned when this one was called; 0 once it has returned itself. */
  readonly floor: number;
  /** The start of what it asks the nodes to confirm, and of what it returned. */
  readonly fence: number;
  /** For each node, whether it is asked to confirm. */
  readonly asked: readonly boolean[];
  /** For each node, the reply that the client has got in this phase, or still can get. */
  readonly replies: readonly Reply[];
}

export interface State {
  readonly nodes: readonly Node[];
  readonly rounds: readonly Round[];
}

/**
 * Explores all that can happen within bounds, where some rules may differ from those of the protocol. Three nodes and
 * three rounds with the guess 1 have 2.9 million states, which take one to two minutes and 1.1 GB.
 */
export function exploreFence(bounds: Bounds, rules?: Partial<Rules>, invariants?: Invariant[]): Exploration {
  return explore(new FenceModel(bounds, { ...PROTOCOL, ...rules }, invariants));
}

/**
 * The fence of a quorum, with no assumption about time. Every message that was ever sent stays on its way: its node may
 * get it at any later moment, also twice, also never, and also long after the client has stopped. A reply waits for the
 * client: it is late or lost when the client goes on without it, or never goes on. A key may expire at any moment: so
 * any vote can be granted, which is the only step that an expiry or a release, in time or late, makes possible.
 */
export class FenceModel implements Model<State> {
  readonly initial: State;
  readonly #bounds: Bounds;
  readonly #rules: Rules;
  readonly #invariants: readonly Invariant[];
  readonly #none: readonly Reply[];

  constructor(bounds: Bounds, rules: Rules = PROTOCOL, invariants: readonly Invariant[] = ["unique", "ordered"]) {
    const { counters, rounds, guesses, lengths = [1] } = bounds;
    // Above that the keys of different states could be the same.
    const longest = Math.max(...lengths);
    const highest = Math.max(...counters, ...guesses) + rounds * longest;
    if (rounds > 3 || longest > 4 || highest > 15) {
      throw new RangeError(`Cannot explore ${rounds} rounds, ${longest} fences, counters up to ${highest}`);
    }
    const asked = counters.map(() => false);
    this.#none = counters.map(() => NONE);
    this.#bounds = bounds;
    this.#rules = rules;
    this.#invariants = invariants;
    this.initial = {
      nodes: counters.map((counter) => ({ holder: undefined, counter })),
      rounds: Array(rounds).fill({
        phase: "idle",
        guess: 0,
        length: 1,
        floor: 0,
        fence: 0,
        asked,
        replies: this.#none,
      }),
    };
  }

  *next(state: State): Generator<Step<State>> {
    for (const [r, round] of state.rounds.entries()) {
      if (round.phase === "idle") yield* this.#call(state, r, round);
      else for (const n of state.nodes.keys()) yield* this.#deliver(state, r, round, n);
      if (round.phase === "voting") yield* this.#count(state, r, round);
      const confirmed = round.replies.filter((reply) => reply === YES).length;
      if (round.phase === "confirming" && confirmed >= quorum(state.nodes.length)) {
        yield this.#return(state, r, round, confirming(round));
      }
    }
    if (!this.#rules.forgets) return;
    for (const [n, node] of state.nodes.entries()) {
      yield { label: () => `n${n} loses its counter`, state: on(state, n, { ...node, counter: 0 }) };
    }
  }

  *#call(state: State, r: number, round: Round): Generator<Step<State>> {
    const floor = Math.max(...state.rounds.map((other) => other.phase === "returned" ? returned(other).end : 0));
    for (const guess of this.#bounds.guesses) {
      for (const length of this.#bounds.lengths ?? [1]) {
        const called = { ...round, phase: "voting", guess, length, floor } as const;
        const label = () => `${name(r)} is called, and asks all nodes for ${text(guessed(called))}`;
        yield { label, state: as(state, r, called) };
      }
    }
  }

  /** Yields the steps in which a node gets the vote of a round, or its candidate. */
  *#deliver(state: State, r: number, round: Round, n: number): Generator<Step<State>> {
    const node = state.nodes[n]!;
    const owner = this.#bounds.keptPlace && n === 0 && r === 1 ? 0 : r;
    const block = guessed(round);
    for (const skewed of this.#rules.raises(node.counter, block) ? [false, true] : [false]) {
      const [granting, reply] = vote(node, owner, block, skewed, this.#rules);
      const granted = on(state, n, granting);
      const label = () => {
        const gone = node.holder === undefined || node.holder === owner
          ? ""
          : `the key of ${name(node.holder)} is gone, `;
        return `n${n}: ${gone}granted to ${name(r)}, ${
          reply === YES ? "raised to" : "not raised from"
        } ${granting.counter}`;
      };
      if (round.phase === "voting") yield { label, state: replied(granted, r, n, reply) };
      // The vote comes twice or late, and its reply is not the one that the client gets.
      const changed = granting.holder !== node.holder || granting.counter !== node.counter;
      if (changed && (round.replies[n] !== NONE || round.phase !== "voting")) {
        yield { label: () => `${label()}, the reply is lost`, state: granted };
      }
    }
    const raising = round.asked[n] ? confirm(node, owner, confirming(round), this.#rules) : undefined;
    if (raising === undefined) return;
    const confirmed = on(state, n, raising);
    yield {
      label: () => `n${n}: ${text(confirming(round))} confirmed to ${name(r)}`,
      state: round.phase === "confirming" ? replied(confirmed, r, n, YES) : confirmed,
    };
  }

  /** Yields the steps in which a client has the grants of a majority, or of more nodes, and goes on. */
  *#count(state: State, r: number, round: Round): Generator<Step<State>> {
    const nodes = state.nodes.length;
    const granted = [...state.nodes.keys()].filter((n) => round.replies[n] !== NONE);
    if (granted.length < quorum(nodes)) return;
    for (const got of subsets(granted)) {
      const replies = got.map((n) => round.replies[n]!);
      const raised = replies.filter((reply) => this.#rules.counts(reply === YES)).length;
      const outcome = verdict({ nodes, granted: got.length, raised, busy: 0, failed: 0 });
      if (outcome === "granted") yield this.#return(state, r, round, guessed(round));
      if (outcome !== "confirm") continue;
      const fence = Number(
        candidate(replies.map((reply) => BigInt(reply === YES ? this.#rules.keeps(guessed(round)) : reply))),
      );
      const asked = round.asked.map((_, n) => got.includes(n));
      const next = { ...round, phase: "confirming", fence, asked, replies: this.#none } as const;
      const label = () =>
        `${name(r)} asks ${got.map((n) => `n${n}`).join(" and ")} to confirm ${text(confirming(next))}`;
      yield { label, state: as(state, r, next) };
    }
  }

  #return(state: State, r: number, round: Round, block: Block): Step<State> {
    const { start, end } = block;
    return {
      label: () => `${name(r)} returns with ${text(block)}`,
      state: as(state, r, { ...round, phase: "returned", floor: 0, fence: start, replies: this.#none }),
      violation: this.#invariants.find((invariant) => {
        const order = ({ start: fence, end: last }: Block) => fenceOrder({ fence, last }, { fence: start, last: end });
        if (invariant === "ordered") return order({ start: 0, end: round.floor }) !== "rises";
        return state.rounds.some((other) => other.phase === "returned" && order(returned(other)) === "repeats");
      }),
    };
  }

  key({ nodes, rounds }: State): string {
    const scalars = rounds.map(({ phase, guess, length, floor, fence }) =>
      (((PHASES.indexOf(phase) * 4 + length - 1) * 16 + guess) * 16 + floor) * 16 + fence
    );
    // Rounds can be exchanged, and nodes, but for a kept place.
    const { keptPlace } = this.#bounds;
    const order = rounds.map((_, r) => r);
    if (!keptPlace) order.sort((a, b) => scalars[a]! - scalars[b]!);
    const columns = nodes.map(({ holder, counter }, n) => {
      let column = (holder === undefined ? 0 : 1 + order.indexOf(holder)) * 16 + counter;
      for (const r of order) column = (column * 32 + rounds[r]!.replies[n]! - NONE) * 2 + Number(rounds[r]!.asked[n]);
      return keptPlace && n === 0 ? -column : column;
    });
    columns.sort((a, b) => a - b);
    const codes = order.map((r) => scalars[r]!);
    for (const column of columns) codes.push(Math.abs(column) >> 12, Math.abs(column) & 0xfff);
    return String.fromCharCode(...codes);
  }
}

/** Returns what a round asks for first. */
const guessed = ({ guess, length }: Round): Block => ({ start: guess, end: guess + length - 1 });
/** Returns what it asks the nodes to confirm. */
const confirming = ({ fence, length }: Round): Block => ({ start: fence, end: fence + length - 1 });
/** Returns what it has returned, which is as long. */
const returned = confirming;
const text = ({ start, end }: Block): string => start === end ? `the fence ${start}` : `the fences ${start} to ${end}`;
const name = (r: number): string => "ABC"[r]!;
const on = ({ nodes, rounds }: State, n: number, node: Node): State => ({ nodes: nodes.with(n, node), rounds });
const as = ({ nodes, rounds }: State, r: number, round: Round): State => ({ nodes, rounds: rounds.with(r, round) });

function replied(state: State, r: number, n: number, reply: Reply): State {
  const round = state.rounds[r]!;
  return as(state, r, { ...round, replies: round.replies.with(n, reply) });
}

function subsets(list: readonly number[]): number[][] {
  return list.reduce<number[][]>((some, one) => [...some, ...some.map((subset) => [...subset, one])], [[]]);
}
