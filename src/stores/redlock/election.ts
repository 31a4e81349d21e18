import type { Clock } from "../../_clock.ts";
import type { Claim, Vote, VoteOptions } from "../../store.ts";
import { candidate, guess, type Verdict } from "./arithmetic.ts";
import { type Answer, majority, outcome, valueOf } from "./ballot.ts";
import type { Nodes } from "./nodes.ts";
import type { Round } from "./round.ts";

/** The longest pause between tries of the other nodes when the coordinator has granted, in milliseconds; it begins at 1. */
const HANDOVER = 16;

/** How often a fence is asked for beside others who share the lock; the pause doubles each time. */
const TRIES = 6;

/** What came of an election. */
export type Result =
  | { readonly outcome: "won"; readonly fence: bigint }
  /** With the coordinator's refusal; without one, nobody knows who was ahead. */
  | { readonly outcome: "lost"; readonly refusal: { readonly retryAfter: number } | undefined }
  | { readonly outcome: "failed"; readonly answers: readonly Answer<Vote>[] };

interface Counted {
  readonly verdict: Verdict;
  readonly answers: readonly Answer<Vote>[];
}

/** One attempt of a round to get the votes of a majority, and a fence. */
export class Election {
  readonly #nodes: Nodes;
  readonly #round: Round;
  readonly #claim: Claim;
  readonly #options: VoteOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  #guess: bigint;
  /** The node whose queue decides who is next. */
  #coordinator: number;
  #highest = 0n;
  readonly #votes: Promise<Vote>[] = [];

  constructor(nodes: Nodes, round: Round, claim: Claim, options: VoteOptions, clock: Clock, random: () => number) {
    this.#nodes = nodes;
    this.#round = round;
    this.#claim = claim;
    this.#options = options;
    this.#guess = options.guess;
    this.#clock = clock;
    this.#random = random;
    this.#coordinator = nodes.coordinator(claim.name);
  }

  /** The node whose queue decides who is next. */
  get coordinator(): number {
    return this.#coordinator;
  }

  /** The highest fence that was won, or that a majority was asked for. */
  get highest(): bigint {
    return this.#highest;
  }

  /** Asks all nodes at once, or the coordinator first when the lock is probably busy: rivals would split the votes. */
  async hold(contended: boolean): Promise<Result> {
    if (contended) {
      const refusal = await this.#askCoordinator();
      if (refusal !== undefined) return { outcome: "lost", refusal };
    }
    for (let tries = 1;; tries++) {
      const { verdict, answers } = await this.#ballot();
      if (verdict === "failed") return { outcome: "failed", answers };
      let fence: bigint | undefined;
      if (verdict === "granted") fence = this.#guess;
      if (verdict === "confirm") fence = await this.#confirm(answers);
      if (fence !== undefined) {
        if (fence > this.#highest) this.#highest = fence;
        return { outcome: "won", fence };
      }
      if (verdict !== "confirm" || this.#claim.mode !== "shared" || tries === TRIES) {
        const vote = valueOf(answers[this.#coordinator]);
        return { outcome: "lost", refusal: vote?.granted === false ? vote : undefined };
      }
      // Others who share the lock have raised the counters meanwhile: it is held, and only wants a fence.
      await this.#clock.sleep(this.#random() * 2 ** tries);
      this.#votes.length = 0;
      this.#guess = guess(this.#highest, this.#clock.now().wall);
    }
  }

  /** Gives its refusal. If it does not answer the next one takes its place, and is asked with all the others. */
  async #askCoordinator(): Promise<Vote & { granted: false } | undefined> {
    const asked = this.#ask(this.#coordinator);
    const vote = await this.#nodes.single(this.#claim, this.#coordinator, asked).catch(() => undefined);
    if (vote?.granted === false) return vote;
    if (vote === undefined) this.#coordinator = this.#nodes.coordinator(this.#claim.name);
    const left = this.#round.leaveQueue(this.#claim, this.#coordinator);
    // What it says to the waiter does not count any more: that is being released.
    if (left !== undefined) delete this.#votes[left];
    return undefined;
  }

  async #ballot(): Promise<Counted> {
    let counted = await this.#count();
    const granted = () => valueOf(counted.answers[this.#coordinator])?.granted;
    // It is this handle's turn, but whoever held the lock before is still releasing it on the other nodes.
    for (let pause = 1; counted.verdict === "busy" && granted() && pause <= HANDOVER; pause *= 2) {
      await this.#clock.sleep(pause);
      for (const [i, answer] of counted.answers.entries()) {
        if (valueOf(answer)?.granted === false) delete this.#votes[i];
      }
      counted = await this.#count();
    }
    return counted;
  }

  #ask(i: number): Promise<Vote> {
    const { enqueue, maxClockSkew } = this.#options;
    return this.#votes[i] ??= this.#round.vote(this.#claim, i, {
      enqueue: enqueue && i === this.#coordinator,
      guess: this.#guess,
      maxClockSkew,
    });
  }

  #count(): Promise<Counted> {
    this.#ask(this.#coordinator); // First, as its word decides who is next.
    const votes = this.#nodes.list.map((_, i) => this.#ask(i));
    return this.#nodes.poll(this.#claim, votes, (answers) => {
      const verdict = outcome(answers, this.#coordinator);
      // Who is to wait must hear from the coordinator whether it stands in the queue; and who may share a lock whether
      // somebody waits: all other nodes would grant it.
      const hearing = verdict === "busy" ? this.#options.enqueue : this.#claim.mode === "shared";
      if (verdict !== "failed" && hearing && answers[this.#coordinator] === undefined) return undefined;
      return verdict && { verdict, answers: [...answers] };
    });
  }

  /** The second trip: a fence above every counter, if a majority confirms it. */
  async #confirm(answers: readonly Answer<Vote>[]): Promise<bigint | undefined> {
    const counters = answers.map(valueOf).map((vote) => vote?.granted ? vote.counter : undefined);
    const fence = candidate(counters.filter((counter) => counter !== undefined));
    this.#highest = fence;
    // Only those that have granted are asked; the others cannot confirm, and have not failed.
    const indices = [...counters.keys()].filter((i) => counters[i] !== undefined);
    const asked = indices.map((i) => this.#nodes.list[i]!.confirm(this.#round.claim(this.#claim, i), fence));
    const confirmed = await this.#nodes.poll(this.#claim, asked, (answers) => {
      return majority(answers, this.#nodes.needed) ?? (answers.includes(undefined) ? undefined : false);
    }, indices);
    return confirmed ? fence : undefined;
  }
}
