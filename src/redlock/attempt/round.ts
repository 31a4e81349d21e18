import type { Claim } from "../../contract/store.ts";
import type { ReleaseProgress } from "../nodes/node_release.ts";
import { NodeVote } from "../nodes/node_vote.ts";
import type { Nodes } from "../nodes/nodes.ts";
import { approval } from "../nodes/answers.ts";
import type { Vote, VoteOptions } from "../../contract/quorum_node.ts";
import { freshId } from "./round_id.ts";

/** The phase of a round; *expired*: released because its lease had ended long ago. */
type RoundPhase = "open" | "released" | "expired";

/**
 * One round of votes of one handle, and the lock that it has won. Its id is fresh, so that no late command of another
 * round counts for this round; only the node with its place in the queue knows it by the id of the round before. The id
 * begins with the owner, so that people who look at a node see whose round it is.
 */
export class Round {
  /** How many rounds in a row, before this round, no handle has won. */
  readonly splits: number;
  readonly #nodes: Nodes;
  readonly #votes: readonly NodeVote[];
  #phase: RoundPhase = "open";
  #queuedAt: number | undefined;
  #fence: bigint | undefined;
  /** How many attempts of this round are under way. */
  #attempts = 0;

  /** Creates a round of an owner, after `splits` rounds in a row that no handle has won. */
  constructor(nodes: Nodes, owner: string, splits = 0) {
    this.splits = splits;
    this.#nodes = nodes;
    const id = freshId(owner);
    this.#votes = nodes.list.map((_, i) => new NodeVote(nodes, i, id));
  }

  /** The node with its place in the queue. */
  get queuedAt(): number | undefined {
    return this.#queuedAt;
  }

  /** The fence once the lock was won; of a block its end. */
  get fence(): bigint | undefined {
    return this.#fence;
  }

  /** Whether it is being released: whatever a node grants later is released as well. */
  get released(): boolean {
    return this.#phase !== "open";
  }

  /** Whether it was released because its lease had ended long ago: a later answer to a renewal counts as *lost*. */
  get expired(): boolean {
    return this.#phase === "expired";
  }

  /** Whether an attempt of this round is under way, perhaps a further attempt after it was won too late. */
  get attempting(): boolean {
    return this.#attempts > 0;
  }

  /** Records that an attempt is under way, until {@linkcode endAttempt}. */
  beginAttempt(): void {
    this.#attempts++;
  }

  endAttempt(): void {
    this.#attempts--;
  }

  /** Returns the claim as a node knows it. */
  claim(claim: Claim, i: number): Claim {
    return this.#votes[i]!.claim(claim);
  }

  vote(claim: Claim, i: number, options: VoteOptions): Promise<Vote> {
    return this.#votes[i]!.ask(claim, options);
  }

  /** Records that the lock is held, with a fence or the end of a block. */
  win(fence: bigint): void {
    this.#queuedAt = undefined;
    this.#fence = fence;
  }

  /** Renews the lock on all nodes; each promise resolves to whether the node had it. */
  renew(claim: Claim): readonly Promise<boolean>[] {
    return this.#votes.map((vote) => vote.renew(claim));
  }

  /** Leaves the queue of a node that is not the coordinator. Returns the node, which may be asked again. */
  leaveQueue(claim: Claim, coordinator: number): number | undefined {
    const i = this.#queuedAt;
    if (i === undefined || i === coordinator) return undefined;
    this.leave(claim, i);
    return i;
  }

  /** Leaves the queue of a node, which from now on knows the round by another id. */
  leave(claim: Claim, i: number): void {
    this.#votes[i]!.leaveQueue(claim, freshId(claim.owner));
    this.#queuedAt = undefined;
  }

  /** Returns the next round, which keeps the place in a queue; `undefined` if no handle has won this round. */
  next(claim: Claim, queue: number | undefined): Round {
    if (queue === undefined) return new Round(this.#nodes, claim.owner, this.splits + 1);
    const next = new Round(this.#nodes, claim.owner);
    this.leaveQueue(claim, queue);
    this.#votes[queue]!.keepFor(next.#votes[queue]!);
    next.#queuedAt = queue;
    return next;
  }

  /** Gives its place in the queue of a node to the round of another handle, which has not asked yet. */
  async giveTo(next: Round, from: Claim, to: Claim): Promise<void> {
    const i = this.#queuedAt;
    if (i === undefined) return;
    next.#queuedAt = i;
    await this.#votes[i]!.giveTo(next.#votes[i]!, from, to);
  }

  /**
   * Restores the lock on a node that has lost it, if nobody can have won it since. Never rejects. The fence is here the
   * end of the lock's block: the counters were left there, and a node that lost its counter must not issue the rest of
   * the block again.
   *
   * 1. The node is inspected: the lock must be free there, or held by others who share it.
   * 2. Unless its counter is still the fence, a majority of nodes must show *after 1* that each holds the lock, and has
   *    the counter that it had when it granted the lock or when the lock was restored there.
   * 3. The node takes the lock if its counter is the same as at 1, and raises that to the fence if it is lower.
   *
   * Why that is safe: whoever wins has raised the counters of a majority, and holds all of these nodes at one moment.
   * One of them is in the majority of 2. Its counter was not raised while it had this lock, so the rival has won after
   * 2, if at all. Then either the rival holds the node of 1: it was free at 1, so its counter is raised after that, and
   * 3 is refused. Or it does not: then its majority has lost this lock, and too few nodes are left for the next
   * renewal. How late 3 is executed, and how often, does not matter. `restore_model_test.ts` explores all that can
   * happen on three nodes. The fences are safe as long as counters do not roll back between 1 and 3.
   *
   * The lock is not restored where another owner holds the node or has its vote; the next renewal tries again. It is
   * not restored while no majority has kept it, for example when two of three nodes were wiped before it was restored
   * on the first. A shared lock is not restored after others have joined, because they raise the counters.
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

  /** Resolves to whether a majority of nodes has kept the lock, so that no other owner can have won it. */
  #isKept(claim: Claim, fence: bigint): Promise<boolean> {
    const keeping = this.#nodes.list.map(async (node, i) => {
      const { state, counter } = await node.inspect(this.claim(claim, i));
      return state === "held" && (counter === fence || counter === this.#votes[i]!.counter);
    });
    return this.#nodes.poll(claim, keeping, (answers) => approval(answers, this.#nodes.needed));
  }

  /**
   * Releases the round on all nodes that were asked, except where the next round keeps its place. Asks the coordinator
   * first, and waits for it. Starts one release for each node, with retries while the node fails.
   */
  release(claim: Claim, coordinator: number): readonly ReleaseProgress[] {
    if (this.#phase === "open") this.#phase = "released";
    const now = this.#nodes.clock.now();
    const first = this.#votes[coordinator]!.release(claim, now);
    return this.#votes.map((vote, i) => i === coordinator ? first : vote.release(claim, now));
  }

  /** Releases the rest of the round, long after the end of its lease. */
  expire(claim: Claim, coordinator: number): void {
    this.#phase = "expired";
    this.release(claim, coordinator);
  }
}
