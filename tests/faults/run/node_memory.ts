import type { Look } from "./look.ts";

/** What is known of the requests for a lock. */
export interface Asking {
  /** The largest fence that was granted. */
  readonly lastFence: bigint;
  /** How many votes of each node have not been answered. */
  readonly unanswered: ReadonlyMap<number, number>;
}

/** What the nodes of a quorum had of a lock while it was held. */
export class NodeMemory {
  readonly #asking: Asking;
  /** The nodes that had lost the lock while their counter was above its fence. */
  readonly #passed = new Set<number>();

  /** Remembers a lock that was granted. */
  constructor(asking: Asking) {
    this.#asking = asking;
  }

  /**
   * Returns whether a node has the lock again although others had asked there in between, and no majority of the nodes
   * has kept it: it must not be restored for its holder then, since nobody knows what has been granted meanwhile.
   *
   * @param looks what was seen on each node, `undefined` where nothing could be seen
   */
  putBack(node: number, looks: readonly (Look | undefined)[]): boolean {
    const look = looks[node];
    if (look === undefined) return false;
    const { present, counter } = look;
    const keepers = looks.filter((other, i) => i !== node && other?.present !== false).length;
    if (present) return this.#passed.delete(node) && keepers <= looks.length / 2;
    // A vote that is still under way may yet be given, whatever the counter.
    const { lastFence, unanswered } = this.#asking;
    if (counter > lastFence && unanswered.get(node) === 0) this.#passed.add(node);
    return false;
  }
}
