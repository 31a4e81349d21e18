import type { Clock } from "../../../src/_clock.ts";
import type { Claim, Renewal, Vote, VoteOptions } from "../../../src/store.ts";
import { MemoryStore } from "../../../src/stores/_memory_store.ts";

/** What a node does with calls: *deaf* hangs, and does what it was asked when it is well again, as a frozen server. */
export type Mood = "well" | "failing" | "deaf";

/** A node in memory that can fail, and that notes what it was asked. */
export class FaultyNode extends MemoryStore {
  /** The names of the methods that were called, in their order. */
  readonly calls: string[] = [];
  session: number | undefined = 0;
  readonly #waiting: (() => void)[] = [];
  #mood: Mood = "well";
  #voter: Claim | undefined;

  constructor(clock: Clock) {
    super(undefined, clock);
  }

  set mood(mood: Mood) {
    this.#mood = mood;
    if (mood === "well") { for (const go of this.#waiting.splice(0)) go(); }
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
    await super.release(this.#voter!);
  }

  override vote(claim: Claim, options: VoteOptions): Promise<Vote> {
    this.#voter = claim;
    return this.#call("vote", () => super.vote(claim, options));
  }

  override confirm(claim: Claim, fence: bigint): Promise<boolean> {
    return this.#call("confirm", () => super.confirm(claim, fence));
  }

  override retake(claim: Claim, fence: bigint): Promise<boolean> {
    return this.#call("retake", () => super.retake(claim, fence));
  }

  override renew(claim: Claim): Promise<Renewal> {
    return this.#call("renew", () => super.renew(claim));
  }

  override release(claim: Claim): Promise<boolean> {
    const { session } = this;
    return this.#call("release", async () => await super.release(claim) || session !== this.session);
  }

  async #call<T>(method: string, run: () => Promise<T>): Promise<T> {
    this.calls.push(method);
    if (this.#mood === "failing") throw new Error("connection lost");
    if (this.#mood === "deaf") await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return await run();
  }
}
