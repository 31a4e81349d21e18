import { type Clock, elapsed, type Instant } from "../../_clock.ts";
import { QuorumError } from "../../errors.ts";
import type { Claim, QuorumNode } from "../../store.ts";
import { coordinators, firstCoordinator, nodeTimeout, quorum } from "./arithmetic.ts";
import { type Answer, count, majority } from "./ballot.ts";

/**
 * A node that failed less than so many milliseconds ago coordinates only if no other one can: the first time, doubled each
 * time that it has failed again, and the longest. As soon as it answers anything, also late, it is well.
 */
const DOWN = [1_000, 30_000] as const;

/** How long a release that has taken effect waits for the coordinator, in milliseconds: it hardly waits if that hangs. */
const COURTESY = 16;

/** How long a node keeps a place in its queue of which it hears nothing, in milliseconds: 15 s on Redis. */
const PLACE = 15_000;

/** The pauses between releases on a node that fails, in milliseconds: the first one, doubled each time, the longest. */
const PAUSES = [50, 1_000] as const;

/** The nodes of a quorum: which of them answer, and what most of them say. */
export class Nodes {
  readonly list: readonly QuorumNode[];
  /** How many are a majority. */
  readonly needed: number;
  readonly #timeout: number | undefined;
  readonly #clock: Clock;
  /** When nodes failed, and for how long they are left alone, in milliseconds. */
  readonly #failed = new Map<number, { readonly since: Instant; readonly ms: number }>();

  /** A node may take `timeout` milliseconds to answer; `undefined`: as long as the lease allows. */
  constructor(list: readonly QuorumNode[], timeout: number | undefined, clock: Clock) {
    this.list = list;
    this.needed = quorum(list.length);
    this.#timeout = timeout;
    this.#clock = clock;
  }

  /** Who coordinates the waiters of a name: the first node of its order, but those that failed a moment ago come last. */
  coordinator(name: string): number {
    if (this.#failed.size === 0) return firstCoordinator(name, this.list.length);
    const order = coordinators(name, this.list.length);
    const now = this.#clock.now();
    return order.find((i) => !this.#down(i, now)) ?? order[0]!;
  }

  /** What nodes say, within their time: all of them, unless the indices of those that were asked are given. */
  poll<T, R>(
    claim: Claim,
    calls: readonly Promise<T>[],
    decide: (answers: readonly Answer<T>[]) => R | undefined,
    indices?: readonly number[],
  ): Promise<R> {
    const heard = (place: number, answered: boolean) => this.#note(indices?.[place] ?? place, answered);
    const ms = this.#timeout ?? nodeTimeout(claim.lease);
    return count(calls, { decide, heard, ms, clock: this.#clock });
  }

  /** What one node says, within its time. */
  async single<T>(claim: Claim, i: number, call: Promise<T>): Promise<T> {
    const answer = await this.poll(claim, [call], ([answer]) => answer, [i]);
    if ("value" in answer) return answer.value;
    throw answer.error;
  }

  /** Whether a majority of nodes says yes, within their time; rejects when neither that nor the contrary is certain. */
  majority(claim: Claim, action: string, calls: readonly Promise<boolean>[]): Promise<boolean> {
    return this.poll(claim, calls, (answers) => {
      const decided = majority(answers, this.needed);
      if (decided === undefined && !answers.includes(undefined)) throw this.error(claim, action, answers);
      return decided;
    });
  }

  /**
   * Whether a lock that is being released was still held, as far as nodes say within their time; rejects when it may
   * not be free. Whoever asks next is to find the coordinator free: that is waited for too, but hardly if it hangs.
   */
  async released(claim: Claim, coordinator: number, freeing: readonly Promise<boolean>[]): Promise<boolean> {
    let orderly = false;
    const released = await this.poll(claim, freeing, (answers) => {
      orderly = answers[coordinator] !== undefined;
      const decided = majority(answers, this.needed);
      if (decided !== undefined || answers.includes(undefined)) return decided;
      // Free on a majority: some had never granted it, and those that have failed are no sign that it was lost before.
      if (answers.filter((answer) => answer !== undefined && "value" in answer).length >= this.needed) return true;
      throw this.error(claim, "release", answers);
    });
    if (!orderly) {
      const heard = (_: number, answered: boolean) => this.#note(coordinator, answered);
      await count([freeing[coordinator]!], {
        decide: ([answer]) => answer && true,
        heard,
        ms: COURTESY,
        clock: this.#clock,
      });
    }
    return released;
  }

  /** Releases on one node, trying again for as long as the lease or a place in the queue could last there. */
  release(i: number, claim: Claim): Promise<boolean> {
    const started = this.#clock.now();
    return this.list[i]!.release(claim).catch((error) => this.#releaseAgain(i, claim, started, error));
  }

  /** What is said of nodes that failed. */
  error({ name }: Claim, action: string, answers: readonly Answer<unknown>[]): QuorumError {
    const failures = answers.flatMap((answer, index) => {
      if (answer === undefined || !("error" in answer)) return [];
      return [{ index, address: this.list[index]!.address, error: answer.error }];
    });
    return new QuorumError(`Cannot ${action} lock "${name}" on ${this.needed} of ${answers.length} nodes`, failures);
  }

  async #releaseAgain(i: number, claim: Claim, started: Instant, failure: unknown): Promise<boolean> {
    const node = this.list[i]!;
    const limit = Math.max(claim.lease, PLACE);
    for (let pause: number = PAUSES[0];; pause = Math.min(pause * 2, PAUSES[1])) {
      if (node.closed || elapsed(started, this.#clock.now()) >= limit) throw failure;
      // Does not keep the process alive: what is undone meanwhile ends with its lease.
      await new Promise<void>((resolve) => this.#clock.timer(pause, resolve));
      try {
        return await node.release(claim);
      } catch (error) {
        failure = error;
      }
    }
  }

  #note(i: number, answered: boolean): void {
    if (answered) {
      if (this.#failed.size > 0) this.#failed.delete(i);
      return;
    }
    const since = this.#clock.now();
    if (this.#down(i, since)) return;
    const before = this.#failed.get(i);
    this.#failed.set(i, { since, ms: before === undefined ? DOWN[0] : Math.min(before.ms * 2, DOWN[1]) });
  }

  #down(i: number, now: Instant): boolean {
    const failed = this.#failed.get(i);
    return failed !== undefined && elapsed(failed.since, now) < failed.ms;
  }
}
