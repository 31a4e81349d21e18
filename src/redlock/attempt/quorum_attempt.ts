import { backoffMs, type Clock } from "../../time/clock.ts";
import type { Claim } from "../../contract/store.ts";
import { blockFrom, candidate, type FenceBlock, type HighestFence } from "./fences.ts";
import type { Nodes } from "../nodes/nodes.ts";
import { type Answer, approval, valueOf } from "../nodes/answers.ts";
import type { Vote, VoteOptions } from "../../contract/quorum_node.ts";
import type { Round } from "./round.ts";
import { endsAttempt, type Verdict, verdictOf } from "./verdict.ts";

/** The longest pause between tries on other nodes once the coordinator has granted, in milliseconds; the first is 1. */
const MAX_HANDOFF_PAUSE_MS = 16;

/** How many fences an attempt tries beside other shared holders, and the first pause between them, in milliseconds. */
const MAX_FENCE_TRIES = 6;
const FIRST_PAUSE_MS = 1;

export type QuorumOutcome =
  | { readonly outcome: "won"; readonly block: FenceBlock }
  /** The refusal of the coordinator; without it, the votes were split. */
  | { readonly outcome: "lost"; readonly refusal: { readonly retryAfter: number } | undefined }
  | { readonly outcome: "failed"; readonly answers: readonly Answer<Vote>[] };

export type AttemptTerms = Omit<VoteOptions, "guess" | "end">;

interface Decision {
  readonly verdict: Verdict;
  readonly answers: readonly Answer<Vote>[];
}

/**
 * One attempt to get the votes of a majority of nodes, and a fence.
 *
 * 1. If the name is contended, the coordinator is asked first.
 * 2. All nodes are asked at the same time, each under its time-out. The verdict is made as soon as it is certain.
 * 3. If some counters were not below the guess, a majority must confirm a fence above all of them.
 *
 * A refusal of the coordinator ends the attempt, see {@linkcode endsAttempt}; but not if this handle is next in the
 * queue and the lock has been held there for so long that a majority should have it. A majority of the other nodes is
 * enough then.
 *
 * The claim may ask for a block of fences: it starts at the guess, or at the fence to confirm, and the counters are
 * raised to its end. No two blocks overlap, and a later block is above an earlier block:
 *
 * - Whoever wins a block has raised the counters of a majority to its end, each of them from below its start.
 * - Any two majorities have a node in common, and its counter never falls. On that node one block was raised after the
 *   other: it starts above the counter of that moment, so above the end of the other block.
 * - If one acquire returned before the other was called, it had raised that counter by then: its block is the lower.
 *
 * So a counter below the end is not enough: the part of the block up to the counter may belong to another block. And a
 * holder may stop or die at any point of its block: nobody else gets the rest. The model in `fence_model.ts` explores
 * all that can happen on three nodes.
 *
 * Locks and places that the attempt leaves on the nodes belong to its {@linkcode Round}, which releases them.
 */
export class QuorumAttempt {
  readonly #nodes: Nodes;
  readonly #round: Round;
  readonly #claim: Claim;
  readonly #options: AttemptTerms;
  readonly #highest: HighestFence;
  readonly #clock: Clock;
  readonly #random: () => number;
  #block: FenceBlock;
  #coordinator: number;
  /** The present vote of each node; a node without a vote is to be asked again. */
  readonly #votes = new Map<number, Promise<Vote>>();

  /** Creates an attempt of a round. All attempts of a store share `highest`; `random` returns numbers from 0 to 1. */
  constructor(
    nodes: Nodes,
    round: Round,
    claim: Claim,
    options: AttemptTerms,
    highest: HighestFence,
    clock: Clock,
    random: () => number,
  ) {
    this.#nodes = nodes;
    this.#round = round;
    this.#claim = claim;
    this.#options = options;
    this.#highest = highest;
    this.#clock = clock;
    this.#block = this.#blockFrom(highest.guess(clock.now().wall));
    this.#random = random;
    this.#coordinator = nodes.coordinator(claim.name);
  }

  /** The node whose queue decides who is next. */
  get coordinator(): number {
    return this.#coordinator;
  }

  /** Runs the attempt. Where the name is `contended` the coordinator is asked first: rivals would split the votes. */
  async run(contended: boolean): Promise<QuorumOutcome> {
    if (contended) {
      const refusal = await this.#askCoordinator();
      if (endsAttempt(refusal) || refusal !== undefined && !await this.#isFreeElsewhere()) {
        return { outcome: "lost", refusal };
      }
    }
    for (let tries = 1;; tries++) {
      const { verdict, answers } = await this.#decide();
      switch (verdict) {
        case "granted":
          return this.#won(this.#block, answers);
        case "busy":
          return this.#lost(answers);
        case "failed":
          return { outcome: "failed", answers };
        case "confirm": {
          const block = await this.#confirm(answers);
          if (block !== undefined) return this.#won(block, answers);
          if (this.#claim.mode !== "shared" || tries === MAX_FENCE_TRIES) return this.#lost(answers);
        }
      }
      // Others who share the lock have raised the counters meanwhile: it is held, and only its fence is missing.
      await this.#clock.sleep(this.#random() * backoffMs(tries, FIRST_PAUSE_MS, Infinity));
      this.#votes.clear();
      this.#block = this.#blockFrom(this.#highest.guess(this.#clock.now().wall));
    }
  }

  /** Returns the block to ask for, beginning with a fence; only that fence when the claim is shared. */
  #blockFrom(fence: bigint): FenceBlock {
    const { mode, fences } = this.#claim;
    const options = { fences: mode === "exclusive" ? fences : 1, maxClockSkew: this.#options.maxClockSkew };
    return blockFrom(fence, this.#clock.now().wall, options);
  }

  #won(block: FenceBlock, answers: readonly Answer<Vote>[]): QuorumOutcome {
    this.#highest.note(block.end);
    // Those who share the lock must not wait behind it.
    if (valueOf(answers[this.#coordinator]!)?.granted === false) this.#round.leave(this.#claim, this.#coordinator);
    return { outcome: "won", block };
  }

  #lost(answers: readonly Answer<Vote>[]): QuorumOutcome {
    const vote = valueOf(answers[this.#coordinator]!);
    return { outcome: "lost", refusal: vote?.granted === false ? vote : undefined };
  }

  /** Returns the refusal of the coordinator. If it does not answer, another node becomes the coordinator. */
  async #askCoordinator(): Promise<Vote & { granted: false } | undefined> {
    const asked = this.#ask(this.#coordinator);
    const vote = await this.#nodes.single(this.#claim, this.#coordinator, asked, true).catch(() => undefined);
    if (vote === undefined) this.#coordinator = this.#nodes.coordinator(this.#claim.name);
    if (endsAttempt(vote)) return vote;
    const left = this.#round.leaveQueue(this.#claim, this.#coordinator);
    // Its vote for the waiter no longer counts: that is being released.
    if (left !== undefined) this.#votes.delete(left);
    return vote?.granted === false ? vote : undefined;
  }

  /** Resolves to whether a majority would grant the lock without the coordinator. Changes nothing on the nodes. */
  async #isFreeElsewhere(): Promise<boolean> {
    const indices = [...this.#nodes.list.keys()].filter((i) => i !== this.#coordinator);
    // Of one or two nodes the coordinator is part of each majority.
    if (indices.length < this.#nodes.needed) return false;
    const free = indices.map(async (i) => {
      const { state } = await this.#nodes.list[i]!.inspect(this.#round.claim(this.#claim, i));
      return state !== "taken";
    });
    return await this.#nodes.poll(this.#claim, free, (answers) => approval(answers, this.#nodes.needed), { indices });
  }

  async #decide(): Promise<Decision> {
    let decision = await this.#poll();
    const granted = () => valueOf(decision.answers[this.#coordinator]!)?.granted;
    // It is this handle's turn, but the last holder is still releasing the lock on the other nodes.
    for (let pause = 1; decision.verdict === "busy" && granted() && pause <= MAX_HANDOFF_PAUSE_MS; pause *= 2) {
      await this.#clock.sleep(pause);
      for (const [i, answer] of decision.answers.entries()) {
        if (valueOf(answer)?.granted === false) this.#votes.delete(i);
      }
      decision = await this.#poll();
    }
    return decision;
  }

  #ask(i: number): Promise<Vote> {
    const asked = this.#votes.get(i);
    if (asked !== undefined) return asked;
    const { enqueue, maxClockSkew } = this.#options;
    const { start, end } = this.#block;
    const vote = this.#round.vote(this.#claim, i, {
      enqueue: enqueue && i === this.#coordinator,
      guess: start,
      end,
      maxClockSkew,
    });
    this.#votes.set(i, vote);
    return vote;
  }

  #poll(): Promise<Decision> {
    this.#ask(this.#coordinator); // First, because its answer decides who is next.
    const votes = this.#nodes.list.map((_, i) => this.#ask(i));
    return this.#nodes.poll(this.#claim, votes, (answers) => {
      const verdict = verdictOf(answers, this.#coordinator);
      if (verdict === undefined || verdict !== "failed" && this.#awaitsCoordinator(verdict, answers)) return undefined;
      return { verdict, answers: [...answers] };
    }, { awaitConnecting: true });
  }

  /**
   * Returns whether the coordinator must answer first: a waiter needs to know that it is in the queue, and a shared
   * claim whether anybody waits, because all other nodes would grant it.
   */
  #awaitsCoordinator(verdict: Verdict, answers: readonly Answer<Vote>[]): boolean {
    if (answers[this.#coordinator]!.state !== "pending") return false;
    return verdict === "busy" ? this.#options.enqueue : this.#claim.mode === "shared";
  }

  /** Makes the second round trip. Returns a block above every counter if a majority confirms it. */
  async #confirm(answers: readonly Answer<Vote>[]): Promise<FenceBlock | undefined> {
    const counters = answers.map(valueOf).map((vote) => vote?.granted ? vote.counter : undefined);
    const start = candidate(counters.filter((counter) => counter !== undefined));
    // Where no counter was in the way, this clock is too far ahead of those of the nodes: it must not move the counters
    // on.
    const block = start > this.#block.start ? this.#blockFrom(start) : { start, end: start };
    const { end } = block;
    this.#highest.note(end);
    // Only nodes that have granted are asked; the others cannot confirm, and have not failed.
    const indices = [...counters.keys()].filter((i) => counters[i] !== undefined);
    const calls = indices.map((i) => this.#nodes.list[i]!.confirm(this.#round.claim(this.#claim, i), start, end));
    const confirmed = await this.#nodes.poll(this.#claim, calls, (answers) => approval(answers, this.#nodes.needed), {
      indices,
    });
    return confirmed ? block : undefined;
  }
}
