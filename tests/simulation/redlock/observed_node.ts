import type { Attempt, AttemptOptions, Claim, Renewal } from "../../../src/contract/store.ts";
import type { Inspection, QuorumNode, Vote, VoteOptions } from "../../../src/contract/quorum_node.ts";
import type { Dealing } from "./dealings.ts";
import type { CoordinatorVote } from "./handles.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Node } from "./node.ts";
import type { Run } from "./run.ts";
import { MAX_CLOCK_SKEW } from "./scenario.ts";
import type { Transition } from "./transitions.ts";

/** From when on a lock that a majority lacks may be granted without its holder's node, in milliseconds. */
const SETTLED_MS = 1_000;

/** A node as a store of a quorum uses it: counts its requests and how they end. */
export class ObservedNode implements QuorumNode {
  readonly #run: Run;
  readonly #client: Machine;
  readonly #node: Node;
  readonly #remote: QuorumNode;

  constructor(run: Run, client: Machine, node: Node, remote: QuorumNode) {
    this.#run = run;
    this.#client = client;
    this.#node = node;
    this.#remote = remote;
  }

  readonly drift = (lease: number): number => this.#remote.drift(lease);

  get address(): string {
    return this.#node.machine.name;
  }

  get session(): number | undefined {
    return this.#remote.session;
  }

  get connecting(): boolean {
    return this.#remote.connecting === true;
  }

  get queueTimeout(): number | undefined {
    return this.#remote.queueTimeout;
  }

  get closed(): boolean {
    return this.#remote.closed === true;
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    return this.#remote.attempt(claim, options);
  }

  async vote(claim: Claim, options: VoteOptions): Promise<Vote> {
    const dealing = this.#deal(claim);
    const { handle } = dealing;
    const { owner, name } = claim;
    if (dealing.released) {
      this.#run.invariants.violate(
        `${this.#client.name} asks ${this.address} for ${name} under an id that it has released there`,
      );
    }
    this.#run.watch.asked(this.#client, this.#node, claim, handle, options);
    const word = options.enqueue && handle !== undefined ? this.#coordinate(handle) : undefined;
    // Who shares a lock also asks again for its fence.
    const repeated = dealing.refused && !dealing.queued && !options.enqueue && handle?.mode === "exclusive";
    if (repeated) this.#take("vote repeated after a handoff pause");
    if (dealing.queued && dealing.refused) this.#take("place in the queue kept by the next round");
    let vote: Vote | undefined;
    try {
      vote = await this.#remote.vote(claim, options);
    } catch (error) {
      this.#take("vote failed");
      throw error;
    } finally {
      if (word !== undefined) {
        word.said = vote === undefined ? "failed" : wordOf(vote);
        word.receivedIn = this.#run.world.events;
      }
    }
    if (vote.granted) this.#checkAhead(claim, vote);
    if (dealing.released) this.#take("vote answered after its round");
    if (vote.granted) this.#take(vote.raised ? "vote granted, counter raised" : "vote granted, counter not raised");
    else this.#take(options.enqueue ? "vote refused, queued" : "vote refused");
    dealing.refused = !vote.granted;
    if (vote.granted && !dealing.released) handle?.votes.set(this.#node, owner);
    else if (handle?.votes.get(this.#node) === owner) handle.votes.delete(this.#node);
    dealing.queued ||= !vote.granted && options.enqueue;
    return vote;
  }

  /** Checks that a counter was not set further ahead of the clock of its node than that allows. */
  #checkAhead({ name }: Claim, { counter, raised }: Vote & { granted: true }): void {
    const { machine } = this.#node;
    if (!raised || this.#run.scenario.clockSet !== "none") return;
    const ahead = Number(counter) / 1_000 - machine.now().wall - MAX_CLOCK_SKEW;
    if (ahead > 1) this.#run.invariants.violate(`${machine.name} sets ${name} ${ahead.toFixed(0)} ms too far ahead`);
  }

  #coordinate(handle: NonNullable<Dealing["handle"]>): CoordinatorVote {
    const before = handle.coordinator?.node;
    if (before !== undefined && before !== this.#node) this.#take("coordinator changed");
    handle.confirmingSince = undefined;
    return handle.coordinator = {
      node: this.#node,
      askedAt: this.#run.world.now,
      said: "nothing",
      receivedIn: Infinity,
    };
  }

  async confirm(claim: Claim, fence: bigint, end = fence): Promise<boolean> {
    const { handle } = this.#deal(claim);
    if (handle !== undefined) {
      if (handle.confirming < end) handle.confirming = end;
      handle.confirmingSince = this.#run.world.events;
    }
    return await this.#counted(
      this.#remote.confirm(claim, fence, end),
      (confirmed) => confirmed ? "confirm done" : "confirm refused",
      "confirm failed",
    );
  }

  async inspect(claim: Claim): Promise<Inspection> {
    this.#deal(claim);
    return await this.#counted(
      this.#remote.inspect(claim),
      ({ state }) => `node found ${state}` as const,
      "inspect failed",
    );
  }

  async retake(claim: Claim, fence: bigint, counter?: bigint): Promise<boolean> {
    this.#deal(claim);
    return await this.#counted(
      this.#remote.retake(claim, fence, counter),
      (retaken) => retaken ? "retake done" : "retake refused",
      "retake failed",
    );
  }

  async renew(claim: Claim): Promise<Renewal> {
    this.#deal(claim);
    if (claim.renewal !== undefined) this.#take("renewal of a changed lease");
    return await this.#counted(
      this.#remote.renew(claim),
      (renewal) => renewal === "renewed" ? "renewal renewed" : "renewal lost on a node",
      "renewal failed",
    );
  }

  async release(claim: Claim): Promise<boolean> {
    const dealing = this.#deal(claim);
    if (dealing.released) this.#take("release repeated");
    dealing.released = true;
    const votes = dealing.handle?.votes;
    if (votes?.get(this.#node) === claim.owner) votes.delete(this.#node);
    if (dealing.queued && dealing.refused && dealing.handle?.endedAt === undefined) {
      this.#take("place in the queue left");
    }
    return await this.#counted(
      this.#remote.release(claim),
      (released) => released ? "release done" : "release found nothing",
      "release failed",
    );
  }

  async wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    await this.#remote.wakeup?.(claim, signal);
    if (!signal.aborted) this.#take("wake-up received");
  }

  #deal({ owner }: Claim): Dealing {
    return this.#run.dealings.of(this.#node, owner);
  }

  #take(transition: Transition): void {
    this.#run.transitions.take(transition);
  }

  /** Counts how a call ends. */
  async #counted<T>(call: Promise<T>, done: (value: T) => Transition, failed: Transition): Promise<T> {
    try {
      const value = await call;
      this.#take(done(value));
      return value;
    } catch (error) {
      this.#take(failed);
      throw error;
    }
  }
}

/** Returns what a vote of the coordinator says. */
function wordOf(vote: Vote): CoordinatorVote["said"] {
  if (vote.granted) return "granted";
  return vote.heldFor !== undefined && vote.heldFor >= SETTLED_MS ? "next" : "refused";
}
