import type { Lock } from "../../../src/lock/lock.ts";
import type { Snapshot } from "../../../src/contract/store.ts";
import { quorum } from "../../../src/redlock/attempt/verdict.ts";
import { nodeTimeoutOf } from "../../../src/redlock/options.ts";
import type { Handle } from "./handles.ts";
import type { Node } from "./node.ts";
import type { Random } from "../kernel/random.ts";
import type { Run } from "./run.ts";

/** A lock that its holder may believe in. */
export interface Held {
  readonly handle: Handle;
  readonly lock: Lock;
}

/** How long the release of a lock takes at the most without a fault, in milliseconds. */
const PROMPT_MS = 150;

/**
 * The same after a disturbance, in milliseconds: pauses between tries to release grow up to a second, and an attempt
 * that its caller has abandoned comes to its end first.
 */
const SETTLED_MS = 3_500;

const BESIDE = "lock granted shared beside others";

/** By the fastest clock a node's time is over after this part of it. */
const IN_TIME = 0.85;

/** How often nodes are looked at, in milliseconds: as long as there are faults, and after that. */
const PACE_MS: Record<"during" | "after", readonly [number, number]> = { during: [3, 60], after: [100, 200] };

/** Looks at all nodes again and again, without the network: whether they have what the clients believe. */
export class Inspection {
  readonly #run: Run;
  readonly #random: Random;
  readonly #nodes: readonly Node[];
  readonly #held = new Set<Held>();
  readonly #reported = new Set<string>();

  constructor(run: Run, random: Random, nodes: readonly Node[]) {
    this.#run = run;
    this.#random = random;
    this.#nodes = nodes;
    this.#next();
  }

  /** Notes that a lock was granted; returns what is to be run when it is released. */
  granted(handle: Handle, lock: Lock): () => void {
    const { single, cohort } = this.#run.scenario;
    if (cohort !== undefined) {
      // A cohort overtakes, and has the votes of another of its handles.
    } else if (single) this.#checkOrder(handle);
    else {
      this.#checkCoordinator(handle);
      this.#checkVotes(handle);
    }
    for (const other of this.#held) {
      if (other.handle.name === handle.name && other.lock.held) this.#run.transitions.take(BESIDE);
    }
    const held = { handle, lock };
    this.#held.add(held);
    void this.#look();
    return () => {
      this.#held.delete(held);
    };
  }

  #next(): void {
    const { world, scenario } = this.#run;
    const pace = world.now < scenario.length ? PACE_MS.during : PACE_MS.after;
    world.after(this.#random.spread(...pace), () => {
      void this.#look();
      this.#next();
    });
  }

  async #look(): Promise<void> {
    const snapshots = await Promise.all(this.#nodes.map((node) => node.look()));
    if (this.#run.scenario.exclusion) this.#checkBacked(snapshots);
    this.#checkLeft(snapshots);
  }

  /**
   * Checks that each lock that its holder believes in is held on a majority of the nodes, except those that lost data.
   */
  #checkBacked(snapshots: readonly Snapshot[]): void {
    const { handles } = this.#run;
    for (const { handle, lock } of this.#held) {
      if (!handle.client.awake || handle.client.late || !lock.held) continue;
      const backing = snapshots.filter(({ held }, i) => {
        return !this.#nodes[i]!.knows || held.some(({ name, owner }) => {
          return name === handle.name && handles.of(owner) === (handle.head ?? handle);
        });
      });
      if (backing.length >= quorum(snapshots.length)) continue;
      const which = `${handle.client.name} believes in ${handle.name} (fence ${lock.fence})`;
      this.#violate(`${which}, which it has on ${backing.length} of ${snapshots.length} nodes`);
    }
  }

  /** Checks that all that a handle left is released at once, or as soon as the nodes can be reached. */
  #checkLeft(snapshots: readonly Snapshot[]): void {
    for (const [i, { held, pending }] of snapshots.entries()) {
      const node = this.#nodes[i]!;
      // The members of a run are listed until its lock ends, also those that do not wait any more.
      for (const { name, owner } of [...held, ...pending.filter(({ member }) => !member)]) {
        const handle = this.#run.handles.of(owner);
        if (handle === undefined || handle.client.dead || handle.forgiven) continue;
        // A place in a queue may be left beside a lock, and goes with it.
        const isHeld = snapshots.some(({ held }) => held.some((other) => other.owner === owner));
        if (!this.#isUnwanted(handle, isHeld)) continue;
        if (this.#run.handles.repeated(owner, node)) continue;
        this.#violate(
          `${name} is left behind by ${handle.client.name} on ${node.machine.name} (${this.#run.world.label(owner)})`,
        );
      }
    }
  }

  /** Returns whether nobody needs any more what the store has under the id of a handle. */
  #isUnwanted(handle: Handle, isHeld: boolean): boolean {
    const { handles, scenario } = this.#run;
    const { client, name, run } = handle;
    if (!this.#isOver(handle)) return false;
    // One of its process has the lock after it, or is to have it.
    if (isHeld && scenario.cohort !== undefined) {
      return handles.all.every((other) => other.client !== client || other.name !== name || this.#isOver(other));
    }
    return !run?.members.some((member) => member.head === handle && !this.#isOver(member));
  }

  /** Returns whether nothing of a handle may be left any more. */
  #isOver({ client, calledAt, endedAt }: Handle): boolean {
    const { world, disturbances } = this.#run;
    if (endedAt === undefined || endedAt + PROMPT_MS > world.now) return false;
    const disturbed = disturbances.until(client);
    return disturbed < calledAt || Math.max(disturbed, endedAt) + SETTLED_MS < world.now;
  }

  /**
   * Checks that the coordinator has not refused the lock, unless it was this handle's turn: the grant would overtake
   * its queue. A handle that asks all nodes at once need not have that answer, unless it wants to share the lock: all
   * other nodes would let it in.
   */
  #checkCoordinator({ name, mode, client, coordinator, lease, confirmingSince = Infinity }: Handle): void {
    if (coordinator === undefined || this.#nodes.length === 1) return;
    const { node, askedAt, said, receivedIn } = coordinator;
    const { world, scenario, transitions } = this.#run;
    if (said === "next") transitions.take("lock granted without the coordinator");
    const refused = said === "refused" && receivedIn < Math.min(confirmingSince, world.events);
    const timeout = (scenario.nodeTimeout ?? nodeTimeoutOf(lease)) * IN_TIME;
    const unanswered = said === "nothing" && mode === "shared" && world.now - askedAt < timeout;
    if (!refused && !unanswered) return;
    const how = unanswered ? "without a word of" : "against the word of";
    this.#violate(`${client.name} gets ${name} ${how} ${node.machine.name}, which has the queue`);
  }

  /** Checks that a majority has voted for the handle, not counting votes that it has released. */
  #checkVotes({ name, client, votes }: Handle): void {
    const nodes = this.#nodes.length;
    if (votes.size < quorum(nodes)) this.#violate(`${client.name} gets ${name} with ${votes.size} votes of ${nodes}`);
  }

  /** Checks that no waiter of a single server is overtaken while there is no fault. */
  #checkOrder(handle: Handle): void {
    const { disturbances, handles } = this.#run;
    const [node] = this.#nodes;
    const askedAt = handle.firstAskedAt.get(node!);
    if (askedAt === undefined) return;
    for (const other of handles.all) {
      if (other === handle || other.name !== handle.name || other.client.dead) continue;
      if (other.mode === "shared" && handle.mode === "shared") continue;
      if (other.grantedAt !== undefined || other.endedAt !== undefined || disturbances.last >= other.calledAt) continue;
      const queued = other.queued.get(node!);
      if (queued === undefined || queued >= askedAt) continue;
      // A member of a run whose lease has ended: it was not in the queue when that was served.
      if ((other.head?.run?.until ?? Infinity) <= this.#run.world.now) continue;
      const [first, second] = [other, handle].map(({ client, calledAt }) => `${client.name} (${calledAt.toFixed(3)})`);
      this.#violate(`${second} gets ${handle.name} before ${first}, which has queued for it before`);
    }
  }

  /** Reports a violation once, though it is seen again and again. */
  #violate(what: string): void {
    if (this.#reported.has(what)) return;
    this.#reported.add(what);
    this.#run.invariants.violate(what);
  }
}
