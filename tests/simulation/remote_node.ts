import { drift, type QuorumNode, type Renewal, type Vote, type VoteOptions } from "../../src/store.ts";
import type { Attempt, AttemptOptions, Claim } from "../../src/store.ts";
import type { Machine } from "./machine.ts";
import type { Network } from "./network.ts";
import type { Node, Work } from "./node.ts";
import type { World } from "./world.ts";

/** How long a server remembers that a client listens, in milliseconds: a client that is gone must not be waited for. */
const LISTENS = 1_000;

/** A node as a client on another machine sees it: every call is a message, and so is every reply. */
export class RemoteNode implements QuorumNode {
  readonly drift = drift;
  readonly #world: World;
  readonly #network: Network;
  readonly #client: Machine;
  readonly #node: Node;
  #listens = false;

  constructor(world: World, network: Network, client: Machine, node: Node) {
    this.#world = world;
    this.#network = network;
    this.#client = client;
    this.#node = node;
  }

  get address(): string {
    return this.#node.machine.name;
  }

  get session(): number | undefined {
    return this.#network.session(this.#client, this.#node);
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    return this.#call(claim, "attempt", (store) => store.attempt(claim, options));
  }

  async vote(claim: Claim, options: VoteOptions): Promise<Vote> {
    if (!options.enqueue || this.#listens) return await this.#vote(claim, options);
    // As the store on Redis does: nobody queues before its client listens.
    const vote = await this.#vote(claim, { ...options, enqueue: false });
    if (vote.granted) return vote;
    await this.#call(claim, "subscribe", () => Promise.resolve());
    this.#listens = true;
    return await this.#vote(claim, options);
  }

  #vote(claim: Claim, options: VoteOptions): Promise<Vote> {
    return this.#call(
      claim,
      `vote${options.enqueue ? " enqueue" : ""} guess ${options.guess}`,
      (store) => store.vote(claim, options),
    );
  }

  confirm(claim: Claim, fence: bigint): Promise<boolean> {
    return this.#call(claim, `confirm ${fence}`, (store) => store.confirm(claim, fence));
  }

  retake(claim: Claim, fence: bigint): Promise<boolean> {
    return this.#call(claim, `retake ${fence}`, (store) => store.retake(claim, fence));
  }

  renew(claim: Claim): Promise<Renewal> {
    return this.#call(claim, "renew", (store) => store.renew(claim));
  }

  async release(claim: Claim): Promise<boolean> {
    const { session } = this;
    const released = await this.#call(claim, "release", (store) => store.release(claim));
    // As the store on Redis does: it may have been done twice, and then it was the first time that gave up the lock.
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

  #call<T>(claim: Claim, what: string, work: Work<T>): Promise<T> {
    const label = this.#world.told ? `${what} ${claim.name} ${this.#world.label(claim.owner)}` : what;
    return this.#network.call(this.#client, this.#node, label, work);
  }
}
