import { type Attempt, type AttemptOptions, type Claim, drift, type Renewal } from "../../../src/contract/store.ts";
import type { Inspection, QuorumNode, Vote, VoteOptions } from "../../../src/contract/quorum_node.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Kind } from "./network.ts";
import type { Node, Work } from "./node.ts";
import type { Run } from "./run.ts";

/** How long a server remembers that a client listens, in milliseconds: a client that is gone must not be waited for. */
const LISTENS = 1_000;

/** A node as a client on another machine sees it: every call is a message, and so is every reply. */
export class RemoteNode implements QuorumNode {
  readonly drift = drift;
  /** As on Redis. */
  readonly queueTimeout = 15_000;
  readonly #run: Run;
  readonly #client: Machine;
  readonly #node: Node<QuorumNode>;
  #listens = false;

  constructor(run: Run, client: Machine, node: Node<QuorumNode>) {
    this.#run = run;
    this.#client = client;
    this.#node = node;
  }

  get session(): number | undefined {
    return this.#run.network.session(this.#client, this.#node);
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    return this.#call(claim, "attempt", (store) => store.attempt(claim, options));
  }

  /** As the store on Redis does: nobody queues before its client listens. */
  async vote(claim: Claim, options: VoteOptions): Promise<Vote> {
    if (!options.enqueue || this.#listens) return await this.#vote(claim, options);
    const vote = await this.#vote(claim, { ...options, enqueue: false });
    if (vote.granted) return vote;
    await this.#call(claim, "subscribe", () => Promise.resolve());
    this.#listens = true;
    return await this.#vote(claim, options);
  }

  #vote(claim: Claim, options: VoteOptions): Promise<Vote> {
    const { guess, end = guess, enqueue } = options;
    let failed = false;
    const call = this.#call(claim, "vote", async (store) => {
      const vote = await store.vote(claim, options);
      if (vote.granted) this.#run.dealings.granted(this.#node, claim);
      else if (enqueue) {
        this.#run.dealings.queued(this.#node, claim.owner);
        // Its client has released it, and does not know that it is executed: the node skips who never asks again.
        if (failed) this.#run.handles.repeat(claim.owner, this.#node);
      }
      return vote;
    }, `vote${enqueue ? " enqueue" : ""} guess ${blockText(guess, end)}`);
    call.catch(() => failed = true);
    return call;
  }

  confirm(claim: Claim, fence: bigint, end = fence): Promise<boolean> {
    return this.#call(
      claim,
      "confirm",
      (store) => store.confirm(claim, fence, end),
      `confirm ${blockText(fence, end)}`,
    );
  }

  inspect(claim: Claim): Promise<Inspection> {
    return this.#call(claim, "inspect", (store) => store.inspect(claim));
  }

  retake(claim: Claim, fence: bigint, counter = fence): Promise<boolean> {
    const details = `retake ${fence} at ${counter}`;
    return this.#call(claim, "retake", async (store) => {
      const before = await store.inspect(claim);
      const retaken = await store.retake(claim, fence, counter);
      if (retaken && before.state !== "held" && before.counter !== counter) {
        const { name } = this.#node.machine;
        this.#run.invariants.violate(`${name} gives ${claim.name} back at ${before.counter}, not at ${counter}`);
      }
      if (retaken && before.state !== "held") this.#run.dealings.granted(this.#node, claim);
      return retaken;
    }, details);
  }

  renew(claim: Claim): Promise<Renewal> {
    return this.#call(claim, "renew", async (store) => {
      const renewal = await store.renew(claim);
      if (renewal === "renewed") this.#run.dealings.renewed(this.#node, claim);
      return renewal;
    });
  }

  async release(claim: Claim): Promise<boolean> {
    const { session } = this;
    const released = await this.#call(claim, "release", (store) => store.release(claim));
    // As the store on Redis does: it may have been executed twice, and then the first one freed the lock.
    return released || session !== this.session;
  }

  async wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    // Leaving is no message: to be woken for nothing does no harm, and a server forgets who is gone.
    const gone = new AbortController();
    const over = Promise.withResolvers<void>();
    const leave = () => {
      gone.abort("over");
      over.resolve();
    };
    if (signal.aborted) return;
    signal.addEventListener("abort", leave);
    const woken = this.#call(claim, "wakeup", async (store, down) => {
      // One that comes late must not take the place of a later one.
      if (gone.signal.aborted) return;
      const forget = () => gone.abort("over");
      down.addEventListener("abort", forget);
      const timer = this.#node.machine.timer(LISTENS, forget);
      await store.wakeup?.(claim, gone.signal);
      timer.cancel();
      down.removeEventListener("abort", forget);
    });
    try {
      await Promise.race([woken, over.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #call<T>(claim: Claim, kind: Kind, work: Work<T, QuorumNode>, text: string = kind): Promise<T> {
    const { world, network, dealings } = this.#run;
    const { owner } = claim;
    const what = world.logs ? `${text} ${claim.name} ${world.label(owner)}` : text;
    const done: Work<T, QuorumNode> = (store, down) => {
      dealings.executing(this.#node, kind, owner);
      return work(store, down);
    };
    const repeated = () => dealings.repeated(this.#node, kind, owner);
    const overdue = () => dealings.overdue(this.#node, kind, owner);
    return network.call(this.#client, this.#node, { kind, what, work: done, repeated, overdue });
  }
}

function blockText(start: bigint, end: bigint): string {
  return end === start ? `${start}` : `${start} to ${end}`;
}
