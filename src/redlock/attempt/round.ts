import type { Claim } from "../../../store.ts";
import type { ReleaseProgress } from "../nodes/node_release.ts";
import { NodeVote } from "../nodes/node_vote.ts";
import type { Nodes } from "../nodes/nodes.ts";
import { approval } from "../nodes/answers.ts";
import type { Vote, VoteOptions } from "../../../quorum_node.ts";
import { freshId } from "./round_id.ts";

/** How a round stands; *expired*: released because its lease had ended long ago. */
type RoundPhase = "open" | "released" | "expired";

/**
 * One round of votes of one handle, and the lock that it has won. Its id is fresh, so that no late command of another
 * round is taken for one of this round; only the node in whose queue it waits knows it by the id of the round before.
 * The id begins with the owner, so that people who look at a node see whose it is.
 */
export class Round {
  /** How many rounds in a row, before this one, nobody has won. */
  readonly splits: number;
  readonly #nodes: Nodes;
  readonly #votes: readonly NodeVote[];
  #phase: RoundPhase = "open";
  #queuedAt: number | undefined;
  #fence: bigint | undefined;
  /** How many attempts are under way with it. */
  #attempts = 0;

  /** Makes a round of an owner, after so many in a row that nobody has won. */
  constructor(nodes: Nodes, owner: string, splits = 0) {
    this.splits = splits;
    this.#nodes = nodes;
    const id = freshId(owner);
    this.#votes = nodes.list.map((_, i) => new NodeVote(nodes, i, id));
  }

  /** The node in whose queue it waits. */
  get queuedAt(): number | undefined {
    return this.#queuedAt;
  }

  /** The fence, of a block its end, once the lock was won. */
  get fence(): bigint | undefined {
    return this.#fence;
  }

  /** Whether it is being released: whatever a node grants later is released as well. */
  get released(): boolean {
    return this.#phase !== "open";
  }

  /** Whether it was released because its lease had ended long ago: a renewal that is answered later is lost. */
  get expired(): boolean {
    return this.#phase === "expired";
  }

  /** Whether an attempt is under way with it, perhaps another one after it was won too late. */
  get attempting(): boolean {
    return this.#attempts > 0;
  }

  /** Notes that an attempt is under way, until {@linkcode endAttempt}. */
  beginAttempt(): void {
    this.#attempts++;
  }

  /** Notes that an attempt has ended. */
  endAttempt(): void {
    this.#attempts--;
  }

  /** Returns the claim as a node knows it. */
  claim(claim: Claim, i: number): Claim {
    return this.#votes[i]!.claim(claim);
  }

  /** Asks one node for its vote. */
  vote(claim: Claim, i: number, options: VoteOptions): Promise<Vote> {
    return this.#votes[i]!.ask(claim, options);
  }

  /** Notes that the lock is held, with a fence or a block that ends with it. */
  win(fence: bigint): void {
    this.#queuedAt = undefined;
    this.#fence = fence;
  }

  /** Renews the lock on all nodes; each resolves to whether it was held there. */
  renew(claim: Claim): readonly Promise<boolean>[] {
    return this.#votes.map((vote) => vote.renew(claim));
  }

  /** Leaves the queue of a node that is not the coordinator. Returns that node, which may be asked anew. */
  leaveQueue(claim: Claim, coordinator: number): number | undefined {
    const i = this.#queuedAt;
    if (i === undefined || i === coordinator) return undefined;
    this.leave(claim, i);
    return i;
  }

  /** Leaves the queue of a node, which knows the round by another id from now on. */
  leave(claim: Claim, i: number): void {
    this.#votes[i]!.leaveQueue(claim, freshId(claim.owner));
    this.#queuedAt = undefined;
  }

  /** Returns the next round, which keeps the place in the queue of a node; `undefined`: nobody has won this one. */
  next(claim: Claim, queue: number | undefined): Round {
    if (queue === undefined) return new Round(this.#nodes, claim.owner, this.splits + 1);
    const next = new Round(this.#nodes, claim.owner);
    this.leaveQueue(claim, queue);
    this.#votes[queue]!.keepFor(next.#votes[queue]!);
    next.#queuedAt = queue;
    return next;
  }

  /** Gives its place in the queue of a node to the round of another handle, which has not asked. */
  async giveTo(next: Round, from: Claim, to: Claim): Promise<void> {
    const i = this.#queuedAt;
    if (i === undefined) return;
    next.#queuedAt = i;
    await this.#votes[i]!.giveTo(next.#votes[i]!, from, to);
  }

  /**
   * Restores the lock on a node that has lost it, if nobody can have won it since. Never rejects. The fence is the end of
   * the lock's block here: that is where the counters were left, and a node that lost its counter must not issue the rest
   * of the block again.
   *
   * 1. The node is inspected: the lock must be free there, or held by others who share it.
   * 2. Unless its counter is still the fence, a majority of nodes must show *after 1* that each holds the lock, and has
   *    the counter that it had when it granted the lock or when the lock was restored there.
   * 3. The node takes the lock if its counter is the same as at 1, and raises that to the fence if it is lower.
   *
   * Why that is safe: whoever wins has raised the counters of a majority, and holds all of these nodes at one moment. One
   * of them is in the majority of 2. Its counter was not raised while it had this lock, so the rival has won after 2, if
   * at all. Then either the rival holds the node of 1: it was free at 1, so its counter is raised after that, and 3 is
   * refused. Or it does not: then its majority has lost this lock, and too few nodes are left for the next renewal. It
   * does not matter how late 3 is executed, or how often. `restore_model_test.ts` explores all that can happen on three
   * nodes. As for the fences, that is so as long as counters do not roll back between 1 and 3.
   *
   * The lock is not restored where somebody else holds the node or has its vote; the next renewal tries again. Nor while
   * no majority has kept it, for example when two of three nodes were wiped before it was restored on the first. Nor,
   * where it is shared, after others have joined, who raise the counters.
   */
  async restore(claim: Claim, i: number): Promise<void> {
    await this.#votes[i]!.restoreOnce(() => this.#restore(claim, i));
  }

  async #restore(claim: Claim, i: number): Promise<void> {
    const fence = this.#fence;
    if (fence === undefined) return;
    const { state, counter } = await this.#nodes.list[i]!.inspect(this.claim(claim, i));
    if (state !== "free" || this.released) return;
    if (counter !== fence && !await this.#isKept(claim, fence) || this.released) return;
    await this.#votes[i]!.retake(claim, fence, counter);
  }

  /** Resolves to whether a majority of nodes has kept the lock, so that nobody else can have won it. */
  #isKept(claim: Claim, fence: bigint): Promise<boolean> {
    const keeping = this.#nodes.list.map(async (node, i) => {
      const { state, counter } = await node.inspect(this.claim(claim, i));
      return state === "held" && (counter === fence || counter === this.#votes[i]!.counter);
    });
    return this.#nodes.poll(claim, keeping, (answers) => approval(answers, this.#nodes.needed));
  }

  /**
   * Releases it on all nodes that were asked, but not where the next round keeps its place; the coordinator first, which
   * is waited for. Each node is released only once, and retried while it fails.
   */
  release(claim: Claim, coordinator: number): readonly ReleaseProgress[] {
    if (this.#phase === "open") this.#phase = "released";
    const now = this.#nodes.clock.now();
    const first = this.#votes[coordinator]!.release(claim, now);
    return this.#votes.map((vote, i) => i === coordinator ? first : vote.release(claim, now));
  }

  /** Releases what is left of it long after the end of its lease. */
  expire(claim: Claim, coordinator: number): void {
    this.#phase = "expired";
    this.release(claim, coordinator);
  }
}
