import type { Claim } from "../../../src/contract/store.ts";
import type { VoteOptions } from "../../../src/contract/quorum_node.ts";
import type { Handle } from "./handles.ts";
import type { Invariants } from "../invariants.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Node } from "./node.ts";
import type { World } from "../kernel/world.ts";

/**
 * For how long a name that was busy is asked for at its coordinator first, in milliseconds: a second by a clock that
 * may be slow.
 */
const BUSY = 1_200;

/** What is known of a name on a client. */
interface Name {
  /** The handles of which the store has to know. */
  readonly known: Set<Handle>;
  /** When it was last found to be busy. */
  busy: number;
}

/** Watches what a store of a quorum asks of its nodes: what is to take one trip must not take two. */
export class Watch {
  readonly #world: World;
  readonly #invariants: Invariants;
  readonly #nodes: number;
  readonly #cohorts: boolean;
  readonly #names = new Map<string, Name>();
  readonly #asking = new Map<Handle, Set<Node>>();
  readonly #begun = new WeakSet<Handle>();

  /**
   * Watches stores of so many nodes. With cohorts the number of trips is not judged: a cohort releases in the
   * background what it has asked for, when the handles that wanted it are gone.
   */
  constructor(world: World, invariants: Invariants, nodes: number, cohorts: boolean) {
    this.#world = world;
    this.#invariants = invariants;
    this.#nodes = nodes;
    this.#cohorts = cohorts;
  }

  /** Notes that the store has to know a handle from now on, or no longer. */
  know(handle: Handle, known: boolean): void {
    const name = this.#name(handle);
    if (known) name.known.add(handle);
    else name.known.delete(handle);
  }

  /** Notes that the store has found a name busy. */
  busy(handle: Handle): void {
    this.#name(handle).busy = this.#world.now;
  }

  /** Notes that a node is asked for its vote. */
  asked(client: Machine, node: Node, claim: Claim, handle: Handle | undefined, { guess }: VoteOptions): void {
    if (handle === undefined) return;
    if (guess <= handle.confirming) {
      this.#invariants.violate(
        `${client.name} guesses ${guess} for ${claim.name}, after it has asked to confirm ${handle.confirming}`,
      );
    }
    this.#asking.get(handle)?.add(node);
    if (this.#begun.has(handle)) return;
    this.#begun.add(handle);
    const { known, busy } = this.#name(handle);
    const others = [...known].some((other) => other !== handle);
    if (this.#cohorts || others || this.#world.now - busy < BUSY) return;
    const asking = new Set([node]);
    this.#asking.set(handle, asking);
    this.#world.after(0, () => {
      this.#asking.delete(handle);
      if (asking.size === this.#nodes) return;
      this.#invariants.violate(
        `${client.name} asks ${asking.size} of ${this.#nodes} nodes for ${claim.name} at first, though nobody is at it there`,
      );
    });
  }

  #name({ client, name }: Handle): Name {
    const key = `${client.name} ${name}`;
    const known = this.#names.get(key) ?? { known: new Set(), busy: -Infinity };
    this.#names.set(key, known);
    return known;
  }
}
