import type { Look } from "./look.ts";
import type { Trace } from "./witness.ts";

/** What the nodes of a quorum had of a lock while it was held. */
export class NodeMemory {
  readonly #fence: bigint;
  readonly #trace: Trace;
  /** The nodes that had lost the lock while their counter was above its fence. */
  readonly #passed = new Set<number>();

  /** Remembers a lock with this fence. */
  constructor(fence: bigint, trace: Trace) {
    this.#fence = fence;
    this.#trace = trace;
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
    if (counter > this.#fence && this.#trace.unanswered.get(node) === 0) this.#passed.add(node);
    return false;
  }
}
