import type { Claim, Granted } from "../../../src/contract/store.ts";
import { fenceOrder, holds } from "../../verification/exclusion.ts";
import type { Trace } from "./trace.ts";

/** A time during which a lease was never known to be over. */
interface Term {
  /**
   * When it ends, at the latest, by the times at which requests were sent whose answers came before it had ended; the
   * beginning of time before it was granted.
   */
  deadline: number;
  /** When the answer came with which it begins. */
  readonly begun: number;
}

/** What was asked of a store under one id, and the lease that it has granted to it. */
export class Asked {
  readonly id: string;
  /** The ids under which the servers were asked, one after the other. */
  readonly ids: Set<string>;
  /** Those of the last attempt. */
  last: Set<string>;
  /** Whether an answer was late, so that much is wrong if it was taken for one in time. */
  late = false;
  /** How many attempts have not been answered, and so may yet be granted. */
  attempts = 0;
  /** Whether an attempt has failed, so that it may be executed late. */
  unanswered = false;
  /** Whether the store has said that it does not have the lock any more. */
  over = false;
  /** Who holds the lock under it: one handle or, after one that does not know it yet, two. */
  readonly users = new Set<Trace>();
  /** A lease that is renewed after its end is another one: who had it before may not believe in it. */
  term: Term = { deadline: -Infinity, begun: -Infinity };
  /** Whether a look at what is left of it was begun, for the first time after it was over. */
  inspected = false;
  readonly #blocks: { readonly fence: bigint; readonly last: bigint }[] = [];
  #renewal = 0;

  /** Nothing was granted yet. */
  constructor(id: string) {
    this.id = id;
    this.ids = new Set([id]);
    this.last = new Set([id]);
  }

  /** Whether other handles may hold the lock under this id. */
  get carries(): boolean {
    return !this.over && this.#blocks.some(({ fence, last }) => last > fence);
  }

  /** Returns whether a fence was granted to it. */
  hasFence(fence: bigint): boolean {
    return this.#blocks.some((block) => fenceOrder(block, { fence }) === "repeats");
  }

  /** Returns whether a fence was granted to it after another one: then the lock was handed on inside the process. */
  wasHandedOn(fence: bigint): boolean {
    return this.#blocks.some((block) => block.fence < fence && fenceOrder(block, { fence }) === "repeats");
  }

  /** Notes that it was granted a lease that ends then. */
  granted({ fence, fences = 1, run = [] }: Granted, deadline: number, now: number): void {
    this.over = this.inspected = false;
    const more = Math.max(fences - 1, run.length);
    if (!this.hasFence(fence + BigInt(more))) this.#blocks.push({ fence, last: fence + BigInt(more) });
    this.#prolong(deadline, now);
  }

  /** Notes that a renewal was sent: from now on the lease may be as short as this. */
  mayEnd(deadline: number): void {
    if (deadline < this.term.deadline) this.term.deadline = deadline;
  }

  /** Notes that a renewal was answered. One that was sent before another one that was answered does not count. */
  renewed({ renewal = 0 }: Claim, deadline: number, now: number): void {
    if (renewal < this.#renewal) return;
    this.#renewal = renewal;
    this.#prolong(deadline, now);
  }

  #prolong(deadline: number, now: number): void {
    // For its holder, what comes after the end of the lease is too late, whatever it says.
    if (!holds({ until: this.term.deadline }, now)) this.term = { deadline, begun: now };
    else this.term.deadline = Math.max(this.term.deadline, deadline);
  }
}
