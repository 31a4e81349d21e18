import type { Claim } from "../../../src/contract/store.ts";
import { currentHandle, type Handle, type Handles } from "./handles.ts";
import type { Kind } from "./network.ts";
import type { Node } from "./node.ts";
import type { Transition, Transitions } from "./transitions.ts";
import type { World } from "../kernel/world.ts";

/** How the requests to one node under one id ended. */
export interface Dealing {
  /** The handle that the id belongs to. */
  readonly handle: Handle | undefined;
  refused: boolean;
  queued: boolean;
  released: boolean;
  /** Whether the node has done its release. */
  executed: boolean;
  /** Until when the node keeps the lock, as far as it is known; and the number of the renewal by which it does. */
  until: number;
  renewal: number;
}

const AFTER_RELEASE: Partial<Record<Kind, Transition>> = {
  vote: "vote executed after its release",
  renew: "renewal executed after its release",
  retake: "retake executed after its release",
};

const TWICE: Partial<Record<Kind, Transition>> = {
  vote: "vote executed twice",
  renew: "renewal executed twice",
  release: "release executed twice",
};

/** The requests of clients to nodes and their effects, by the ids that the nodes know. */
export class Dealings {
  readonly #world: World;
  readonly #handles: Handles;
  readonly #transitions: Transitions;
  readonly #all = new Map<Node, Map<string, Dealing>>();

  constructor(world: World, handles: Handles, transitions: Transitions) {
    this.#world = world;
    this.#handles = handles;
    this.#transitions = transitions;
  }

  /** Returns the dealing of a node and an id; a new id belongs to the handle on whose behalf the code runs. */
  of(node: Node, id: string): Dealing {
    const all = this.#all.get(node) ?? new Map<string, Dealing>();
    this.#all.set(node, all);
    const known = all.get(id);
    if (known !== undefined) return known;
    const handle = currentHandle() ?? this.#handles.of(id);
    const made = {
      handle,
      refused: false,
      queued: false,
      released: false,
      executed: false,
      until: -Infinity,
      renewal: 0,
    };
    this.#handles.name(id, handle);
    all.set(id, made);
    return made;
  }

  /** Notes that a node executes a request under an id. */
  executing(node: Node, kind: Kind, id: string): void {
    const dealing = this.of(node, id);
    const late = AFTER_RELEASE[kind];
    if (dealing.executed && late !== undefined) this.#transitions.take(late);
    if (kind === "release") dealing.executed = true;
    const { handle } = dealing;
    const asks = kind === "vote" || kind === "attempt";
    if (asks && handle !== undefined && !handle.firstAskedAt.has(node)) handle.firstAskedAt.set(node, this.#world.now);
  }

  /** Notes that a node has granted a lock, or granted it again: that never shortens its lease. */
  granted(node: Node, { owner, lease, renewal = 0 }: Claim): void {
    const dealing = this.of(node, owner);
    dealing.renewal = Math.max(dealing.renewal, renewal);
    dealing.until = Math.max(dealing.until, this.#world.now + lease / node.machine.rate);
  }

  /** Notes that a node has renewed a lock: an older renewal does not count any more. */
  renewed(node: Node, { owner, lease, renewal = 0 }: Claim): void {
    const dealing = this.of(node, owner);
    if (renewal < dealing.renewal) return;
    dealing.renewal = renewal;
    dealing.until = this.#world.now + lease / node.machine.rate;
  }

  /** Notes that a node has put an id into its queue, or left it there. */
  queued(node: Node, id: string): void {
    const { handle } = this.of(node, id);
    if (handle !== undefined && !handle.queued.has(node)) handle.queued.set(node, this.#world.now);
  }

  /** Notes a request that its client has rejected: a release may not be repeated, and others may come after it. */
  overdue(node: Node, kind: Kind, id: string): void {
    if (kind === "release" || this.of(node, id).executed) this.#handles.repeat(id, node);
  }

  /** Notes that a node executes a request a second time. */
  repeated(node: Node, kind: Kind, id: string): void {
    this.#handles.repeat(id, node);
    const twice = TWICE[kind];
    if (twice !== undefined) this.#transitions.take(twice);
  }
}
