import type { Instant } from "../../time/clock.ts";
import type { Claim } from "../../contract/store.ts";
import { nothingToRelease, type ReleaseProgress } from "./node_release.ts";
import type { Nodes } from "./nodes.ts";
import type { QuorumNode, Vote, VoteOptions } from "../../contract/quorum_node.ts";

type NodeVoteState =
  /** Nothing: the node was not asked under the present id. */
  | { readonly name: "unasked" }
  /**
   * The node may hold the lock, or a place in the queue. `session` is the node's session when it was asked; `undefined`
   * after several votes, because nothing tells which vote a release has found.
   */
  | { readonly name: "asked"; readonly session: number | undefined }
  /** Not released on this node, because the next round keeps its place in the queue. */
  | { readonly name: "kept"; readonly by: NodeVote }
  /** Released, or being released. Whatever the node grants later is released as well. */
  | { readonly name: "released"; readonly progress: ReleaseProgress; readonly session: number | undefined };

const UNASKED = { name: "unasked" } as const;

/** The vote of one node in a round, and all that the round may hold on the node. */
export class NodeVote {
  readonly #nodes: Nodes;
  readonly #index: number;
  readonly #node: QuorumNode;
  #id: string;
  #state: NodeVoteState = UNASKED;
  #counter: bigint | undefined;
  #restoring = false;
  /** Whether the lock was renewed: a later vote does not change the counter. */
  #renewed = false;

  constructor(nodes: Nodes, index: number, id: string) {
    this.#nodes = nodes;
    this.#index = index;
    this.#node = nodes.list[index]!;
    this.#id = id;
  }

  /** The node's fence counter when it granted the lock, or when the lock was restored there. */
  get counter(): bigint | undefined {
    return this.#counter;
  }

  /** Returns the claim under the id that the node knows. */
  claim(claim: Claim): Claim {
    return { ...claim, owner: this.#id };
  }

  /** Asks the node. If it grants or queues after the release of the round, that is released as well. */
  ask(claim: Claim, options: VoteOptions): Promise<Vote> {
    const asked = this.claim(claim);
    const { session } = this.#node;
    const vote = this.#node.vote(asked, options);
    switch (this.#state.name) {
      case "unasked":
        this.#state = { name: "asked", session };
        break;
      case "asked":
      case "released":
        this.#state = { ...this.#state, session: undefined };
        break;
      case "kept":
        break;
    }
    const settled = (vote?: Vote) => NodeVote.#last(this).#settled(asked, vote, options.enqueue);
    vote.then(settled, () => settled());
    return vote;
  }

  /** Renews the lock on the node; resolves to whether the node had it. */
  async renew(claim: Claim): Promise<boolean> {
    this.#renewed = true;
    return await this.#node.renew(this.claim(claim)) === "renewed";
  }

  /** Releases what the node may hold. Starts only one release, however often it is called. */
  release(claim: Claim, now: Instant): ReleaseProgress {
    switch (this.#state.name) {
      case "unasked":
        this.#state = { name: "released", progress: nothingToRelease, session: undefined };
        return nothingToRelease;
      case "asked": {
        const progress = this.#nodes.release(this.#index, this.claim(claim), now);
        this.#state = { name: "released", progress, session: this.#state.session };
        return progress;
      }
      case "kept":
        return nothingToRelease;
      case "released":
        return this.#state.progress;
    }
  }

  /** Leaves the node's queue. Later votes ask the node under another id. */
  leaveQueue(claim: Claim, id: string): void {
    this.#nodes.releaseInBackground(this.#index, this.claim(claim));
    this.#id = id;
    if (this.#state.name !== "released") this.#state = UNASKED;
  }

  /** Passes the place in the node's queue to the next round, with the id. */
  keepFor(next: NodeVote): void {
    next.#id = this.#id;
    next.#state = { name: "asked", session: undefined };
    this.#state = { name: "kept", by: next };
  }

  /** Gives the place in the node's queue to the vote of another handle. */
  async giveTo(next: NodeVote, from: Claim, to: Claim): Promise<void> {
    next.#state = { name: "asked", session: undefined };
    await this.#node.succeed?.(this.claim(from), next.claim(to));
  }

  /** Runs a restoration of the lock on the node, unless one is under way. Never rejects. */
  async restoreOnce(restore: () => Promise<void>): Promise<void> {
    if (this.#restoring) return;
    this.#restoring = true;
    await restore().catch(() => {}); // The next renewal that finds the node empty tries again.
    this.#restoring = false;
  }

  /**
   * Restores the lock on a node that had none and this counter, see {@linkcode Round.restore}. If the round was
   * released meanwhile it releases the node again: the node may have taken the lock after the release, even if its
   * answer was lost.
   */
  async retake(claim: Claim, fence: bigint, counter: bigint): Promise<void> {
    const mine = this.claim(claim);
    // A node whose queue it has left.
    if (this.#state.name === "unasked") this.#state = { name: "asked", session: undefined };
    try {
      const retaken = await this.#node.retake(mine, fence, counter);
      if (retaken) this.#counter = counter > fence ? counter : fence;
    } finally {
      if (NodeVote.#last(this).#state.name === "released") this.#nodes.releaseInBackground(this.#index, mine);
    }
  }

  /** Returns the vote of the round that keeps the place in the queue at present. */
  static #last(vote: NodeVote): NodeVote {
    while (vote.#state.name === "kept") vote = vote.#state.by;
    return vote;
  }

  /** Records the answer to a vote, or releases what the node holds if no round needs it. */
  #settled(asked: Claim, vote: Vote | undefined, enqueued: boolean): void {
    const needed = this.#id === asked.owner && this.#state.name !== "released";
    if (needed) {
      if (vote?.granted && !this.#renewed) this.#counter = vote.counter;
    } else if (vote?.granted !== false || enqueued) {
      void this.#releaseLate(asked, vote?.granted === true);
    }
  }

  /** Releases what the node granted or queued late, unless the release was executed after it. */
  async #releaseLate(asked: Claim, granted: boolean): Promise<void> {
    if (granted && this.#id === asked.owner && await this.#hasReleasedVote()) return;
    this.#nodes.releaseInBackground(this.#index, asked);
  }

  /**
   * Resolves to whether the release is known to have found the lock and no vote can be executed after it: there was
   * only one vote, and the client was never cut off, so that the vote was executed at most once.
   */
  async #hasReleasedVote(): Promise<boolean> {
    if (this.#state.name !== "released" || !await this.#state.progress.done.catch(() => false)) return false;
    const { session } = this.#state;
    return session !== undefined && session === this.#node.session;
  }
}
