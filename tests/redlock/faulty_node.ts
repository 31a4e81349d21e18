import type { Clock } from "../../src/time/clock.ts";
import type { Attempt, AttemptOptions, Claim, Renewal, Snapshot } from "../../src/contract/store.ts";
import type { Inspection, QuorumNode, Vote, VoteOptions } from "../../src/contract/quorum_node.ts";
import { drift } from "../../src/contract/store.ts";
import { MemoryStore } from "../../src/stores/memory/store.ts";

/**
 * What a node does with calls: *hanging* hangs, and does what it was asked when it is healthy again, as a frozen
 * server.
 */
export type Condition = "healthy" | "failing" | "hanging";

/** A node in memory that can fail, and that notes what it was asked. */
export class FaultyNode implements QuorumNode {
  readonly drift = drift;
  /** The names of the methods that were called, in their order. */
  readonly calls: string[] = [];
  session: number | undefined = 0;
  connecting = false;
  /** How long a call takes to arrive, in milliseconds. */
  trip = 0;
  /** As on Redis. */
  readonly queueTimeout = 15_000;
  connectionError: Error | undefined;
  /** What calls of a failing node reject with. */
  failure: Error = new Error("connection lost");
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #store: MemoryStore;
  #condition: Condition = "healthy";
  #voter: Claim | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#store = new MemoryStore(undefined, clock);
  }

  /** The names that are held or waited for, and some that were. */
  get names(): string[] {
    return this.#store.names;
  }

  set condition(condition: Condition) {
    this.#condition = condition;
    if (condition === "healthy") { for (const go of this.#waiting.splice(0)) go(); }
  }

  /** Is cut off for a moment: a release that is under way may have been done twice, and so says that it was done. */
  cut(): void {
    if (this.session !== undefined) this.session++;
  }

  /** Lets what hangs go in the reverse order, as when it was sent over several connections. */
  reorder(): void {
    this.#waiting.reverse();
  }

  /** Loses the lock of whoever asked last, as by an expiry or an operator. */
  async loseLock(): Promise<void> {
    await this.#store.release(this.#voter!);
  }

  /** Comes back empty, as after a restart without its data. */
  wipe(): void {
    this.#store = new MemoryStore(undefined, this.#clock);
  }

  attempt(claim: Claim, options: AttemptOptions): Promise<Attempt> {
    return this.#store.attempt(claim, options);
  }

  query(): Promise<Snapshot> {
    return this.#store.query();
  }

  vote(claim: Claim, options: VoteOptions): Promise<Vote> {
    this.#voter = claim;
    return this.#call("vote", (store) => store.vote(claim, options));
  }

  confirm(claim: Claim, fence: bigint, end?: bigint): Promise<boolean> {
    return this.#call("confirm", (store) => store.confirm(claim, fence, end));
  }

  inspect(claim: Claim): Promise<Inspection> {
    return this.#call("inspect", (store) => store.inspect(claim));
  }

  retake(claim: Claim, fence: bigint, counter?: bigint): Promise<boolean> {
    return this.#call("retake", (store) => store.retake(claim, fence, counter));
  }

  renew(claim: Claim): Promise<Renewal> {
    return this.#call("renew", (store) => store.renew(claim));
  }

  release(claim: Claim): Promise<boolean> {
    const { session } = this;
    return this.#call("release", async (store) => await store.release(claim) || session !== this.session);
  }

  succeed(from: Claim, to: Claim): Promise<void> {
    return this.#call("succeed", (store) => store.succeed(from, to));
  }

  async #call<T>(method: string, run: (store: MemoryStore) => Promise<T>): Promise<T> {
    this.calls.push(method);
    if (this.#condition === "failing") throw this.failure;
    if (this.#condition === "hanging") await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.trip > 0) await this.#clock.sleep(this.trip);
    return await run(this.#store);
  }
}
