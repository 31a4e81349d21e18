import type { Claim, Vote, VoteOptions } from "../../store.ts";
import type { Nodes } from "./nodes.ts";

/**
 * One round of votes of one handle, and what it holds after it. Its id is fresh, so that a late command of another round
 * is never taken for this one's; only the node in whose queue it stands knows it by that of the round before.
 */
export class Round {
  /** How many rounds of this handle nobody has won before. */
  readonly splits: number;
  readonly #nodes: Nodes;
  /** The id on each node. */
  readonly #ids: string[];
  /**
   * The nodes that were asked, and so may hold or queue it: in which session, if they were asked but once. Of several
   * votes under one id nobody could tell which of them a release has found.
   */
  readonly #asked = new Map<number, number | undefined>();
  #queuedAt: number | undefined;
  #fence: bigint | undefined;
  #freeing: readonly Promise<boolean>[] | undefined;
  /** The node on which it is not released, because the next round keeps its place in the queue. */
  #kept: { readonly i: number; readonly by: Round } | undefined;

  constructor(nodes: Nodes, splits = 0) {
    this.splits = splits;
    this.#nodes = nodes;
    const id = crypto.randomUUID();
    this.#ids = nodes.list.map(() => id);
  }

  /** The node in whose queue it stands. */
  get queuedAt(): number | undefined {
    return this.#queuedAt;
  }

  /** The fence, once the lock is held. */
  get fence(): bigint | undefined {
    return this.#fence;
  }

  /** Whether it is being released: whatever a node grants to it later is given back as well. */
  get over(): boolean {
    return this.#freeing !== undefined;
  }

  /** The claim as a node knows it. */
  claim(claim: Claim, i: number): Claim {
    return { ...claim, owner: this.#ids[i]! };
  }

  /** Asks one node. What comes of it when it is not wanted any more is given back. */
  vote(claim: Claim, i: number, options: VoteOptions): Promise<Vote> {
    const mine = this.claim(claim, i);
    const node = this.#nodes.list[i]!;
    const session = this.#asked.has(i) ? undefined : node.session;
    const vote = node.vote(mine, options);
    this.#asked.set(i, session);
    const settled = (vote?: Vote) => {
      const round = Round.#last(this, i);
      const unwanted = round.#ids[i] !== mine.owner || round.over;
      if (unwanted && (vote?.granted !== false || options.enqueue)) {
        void round.#giveBack(i, mine, vote?.granted === true);
      }
    };
    vote.then(settled, () => settled());
    return vote;
  }

  /** The round that has kept the place of a round on a node, or the one that has kept it after that. */
  static #last(round: Round, i: number): Round {
    while (round.#kept?.i === i) round = round.#kept.by;
    return round;
  }

  /** Releases what came too late, or may yet come, unless the release of the round was not overtaken by it. */
  async #giveBack(i: number, mine: Claim, granted: boolean): Promise<void> {
    // Asked once, and that done once at the most: if the release has found it, that came after it.
    const found = granted && this.#ids[i] === mine.owner && await this.#freeing?.[i]?.catch(() => false);
    const session = this.#asked.get(i);
    if (found && session !== undefined && session === this.#nodes.list[i]!.session) return;
    await this.#nodes.release(i, mine).catch(() => {});
  }

  /** The lock is held from now on. */
  win(fence: bigint): void {
    this.#queuedAt = undefined;
    this.#fence = fence;
  }

  /** Gives up the place in the queue of a node that is not the coordinator; gives that node: there it begins anew. */
  leaveQueue(claim: Claim, coordinator: number): number | undefined {
    const i = this.#queuedAt;
    if (i === undefined || i === coordinator) return undefined;
    this.#nodes.release(i, this.claim(claim, i)).catch(() => {});
    this.#ids[i] = crypto.randomUUID();
    this.#queuedAt = undefined;
    return i;
  }

  /** The round after this one, which nobody has won, or which keeps its place in the queue of a node. */
  next(claim: Claim, queue: number | undefined): Round {
    if (queue === undefined) return new Round(this.#nodes, this.splits + 1);
    const next = new Round(this.#nodes);
    this.leaveQueue(claim, queue);
    next.#ids[queue] = this.#ids[queue]!;
    next.#asked.set(queue, undefined);
    next.#queuedAt = queue;
    this.#kept = { i: queue, by: next };
    return next;
  }

  /** Gives the lock back to a node that has lost it, if nobody can have held it there since. Never rejects. */
  async retake(claim: Claim, i: number): Promise<void> {
    if (this.over || this.#fence === undefined) return;
    const mine = this.claim(claim, i);
    await this.#nodes.list[i]!.retake(mine, this.#fence).catch(() => {});
    // Released meanwhile: perhaps before it was taken again, also when the answer to that was lost.
    if (this.over) await this.#nodes.release(i, mine).catch(() => {});
  }

  /**
   * Releases it on all nodes that were asked, but the one that is kept; the coordinator first, which is waited for.
   * Begun once.
   */
  free(claim: Claim, coordinator: number): readonly Promise<boolean>[] {
    if (this.#freeing !== undefined) return this.#freeing;
    const free = (i: number) => {
      if (i === this.#kept?.i || !this.#asked.has(i)) return Promise.resolve(false);
      const freed = this.#nodes.release(i, this.claim(claim, i));
      freed.catch(() => {});
      return freed;
    };
    const first = free(coordinator);
    return this.#freeing = this.#ids.map((_, i) => i === coordinator ? first : free(i));
  }
}
