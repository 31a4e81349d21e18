import { isDenied } from "../../internal/failure.ts";
import type { Clock, Instant } from "../../time/clock.ts";
import { type NodeFailure, QuorumError, StoreError } from "../../contract/errors.ts";
import type { Claim } from "../../contract/store.ts";
import { AnswerTimeouts } from "./answer_timeouts.ts";
import { coordinators, firstCoordinator } from "../attempt/coordinators.ts";
import { NodeHealth } from "./node_health.ts";
import { NodeRelease, type ReleaseProgress } from "./node_release.ts";
import { nodeTimeoutOf } from "../options.ts";
import { type Answer, isComplete, majority, poll } from "./answers.ts";
import type { QuorumNode } from "../../contract/quorum_node.ts";
import { quorum } from "../attempt/verdict.ts";

/** How much longer a release that has taken effect waits for the coordinator, in milliseconds. */
const COORDINATOR_GRACE_MS = 16;

export interface PollScope {
  /** The indices of the nodes that were asked, one for each call; all nodes when left out. */
  readonly indices?: readonly number[] | undefined;
  /**
   * Whether to give more time to nodes that are still connecting, where the nodes that are connected and have not
   * failed are no majority. Otherwise a majority decides without them.
   */
  readonly awaitConnecting?: boolean | undefined;
  /** How long a node may take to answer, in milliseconds; as usual when left out. */
  readonly timeout?: number | undefined;
}

/** The nodes of a quorum: asks them under time-outs, and knows which nodes answer. */
export class Nodes {
  readonly list: readonly QuorumNode[];
  readonly clock: Clock;
  /** How many nodes are a majority. */
  readonly needed: number;
  readonly #timeout: number | undefined;
  readonly #time: AnswerTimeouts;
  readonly #health: readonly NodeHealth[];
  readonly #indices: readonly number[];

  /** Creates a quorum. A node may take `timeout` milliseconds to answer; `undefined`: the time depends on the lease. */
  constructor(list: readonly QuorumNode[], timeout: number | undefined, clock: Clock) {
    this.list = list;
    this.needed = quorum(list.length);
    this.#timeout = timeout;
    this.clock = clock;
    this.#time = new AnswerTimeouts(clock);
    this.#indices = [...list.keys()];
    this.#health = list.map((node) => new NodeHealth(node, clock));
  }

  /** Returns the coordinator of a name's waiters: the first node in the name's order; nodes that are down come last. */
  coordinator(name: string): number {
    const first = firstCoordinator(name, this.list.length);
    if (!this.#health[first]!.failed) return first;
    return coordinators(name, this.list.length).find((i) => !this.#health[i]!.down) ?? first;
  }

  /** Resolves to the outcome of asking several nodes, each under its time-out. */
  poll<T, R>(
    { lease }: Pick<Claim, "lease">,
    calls: readonly Promise<T>[],
    decide: (answers: readonly Answer<T>[]) => R | undefined,
    { indices, awaitConnecting = false, timeout = this.#timeout ?? nodeTimeoutOf(lease) }: PollScope = {},
  ): Promise<R> {
    let connecting = awaitConnecting ? this.#connecting(indices ?? this.#indices) : [];
    const onTimeout = (nodes: readonly number[]) => {
      const late = nodes.map((node) => indices?.[node] ?? node);
      const extended = this.#reachable(late) < this.needed ? late.filter((i) => connecting.includes(i)) : [];
      // A node that has connected meanwhile is given time to answer, once.
      connecting = this.#connecting(extended);
      return late.map((i) => extended.includes(i) ? undefined : this.#timedOut(i, timeout));
    };
    const onSettled = (node: number, answered: boolean) => this.#health[indices?.[node] ?? node]!.note(answered);
    return poll(calls, { decide, onSettled, timeout, onTimeout, time: this.#time });
  }

  /** Resolves to the answer of one node; rejects when it fails or does not answer in time. */
  async single<T>(claim: Claim, i: number, call: Promise<T>, awaitConnecting = false): Promise<T> {
    const settled = ([answer]: readonly Answer<T>[]) => answer!.state === "pending" ? undefined : answer;
    const answer = await this.poll(claim, [call], settled, { indices: [i], awaitConnecting });
    if (answer.state === "answered") return answer.value;
    throw answer.error;
  }

  /** Resolves to whether a majority of nodes says yes; rejects when neither yes nor no is certain. */
  majority(claim: Claim, action: string, calls: readonly Promise<boolean>[]): Promise<boolean> {
    return this.poll(claim, calls, (answers) => {
      const decided = majority(answers, this.needed);
      if (decided === undefined && isComplete(answers)) throw this.error(claim, action, answers);
      return decided;
    });
  }

  /**
   * Resolves to whether a lock that is being released was still held. Rejects as soon as so many nodes have failed that
   * the lock may not be free. Waits a short time for the coordinator as well, so that the next attempt finds the lock
   * free.
   */
  async released(claim: Claim, coordinator: number, releases: readonly ReleaseProgress[]): Promise<boolean> {
    const calls = releases.map((release) => release.answer());
    let coordinated = false;
    const released = await this.poll(claim, calls, (answers) => {
      coordinated = answers[coordinator]!.state !== "pending";
      return this.#isReleased(claim, answers);
    });
    if (!coordinated) await this.#awaitCoordinator(claim, coordinator, calls[coordinator]!);
    return released;
  }

  /** Starts a release on one node, with retries for as long as the lease or a place in the queue can last there. */
  release(i: number, claim: Claim, began: Instant): ReleaseProgress {
    return new NodeRelease(this.list[i]!, claim, this.clock, began);
  }

  /** Starts a release on one node, without waiting for it: a vote that stays there ends with its lease. */
  releaseInBackground(i: number, claim: Claim): void {
    this.release(i, claim, this.clock.now()).done.catch(() => {});
  }

  /** Returns the error for a call about a lock on which too many nodes have failed. */
  error({ name }: Claim, action: string, answers: readonly Answer<unknown>[]): QuorumError {
    return this.failure(`${action} lock "${name}"`, answers);
  }

  failure(what: string, answers: readonly Answer<unknown>[]): QuorumError {
    const failures = answers.flatMap((answer, index): NodeFailure[] => {
      return answer.state === "failed" ? [{ index, address: this.list[index]!.address, error: answer.error }] : [];
    });
    const permanent =
      failures.filter(({ error }) => error instanceof StoreError ? error.permanent : isDenied(error)).length;
    const message = `Cannot ${what} on ${this.needed} of ${answers.length} nodes`;
    return new QuorumError(message, failures, { permanent: permanent > answers.length - this.needed });
  }

  #isReleased(claim: Claim, answers: readonly Answer<boolean>[]): boolean | undefined {
    let failed = 0;
    for (const { state } of answers) if (state === "failed") failed++;
    if (failed > answers.length - this.needed) throw this.error(claim, "release", answers);
    const decided = majority(answers, this.needed);
    if (decided !== undefined || !isComplete(answers)) return decided;
    // Free on a majority: some nodes never granted it, and failed nodes do not show that it was lost before.
    return true;
  }

  /** Waits for the coordinator for a short time: a coordinator that takes longer is slow, and keeps the queue. */
  async #awaitCoordinator(claim: Claim, coordinator: number, call: Promise<boolean>): Promise<void> {
    const answered = this.poll(claim, [call], () => true, { indices: [coordinator] });
    await new Promise<void>((resolve) => {
      const timer = this.#time.timer(COORDINATOR_GRACE_MS, resolve);
      answered.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  /** Records that a node has not answered in time. Returns its error, with the reason if its client knows it. */
  #timedOut(i: number, ms: number): Error {
    this.#health[i]!.note(false);
    const { connectionError: cause } = this.list[i]!;
    if (cause === undefined) return new Error(`no answer within ${ms} ms`);
    return new Error(`no answer within ${ms} ms: ${cause.message}`, { cause });
  }

  #connecting(indices: readonly number[]): number[] {
    return indices.filter((i) => this.#health[i]!.connecting);
  }

  /** Returns how many other nodes are connected and have not failed, as far as known. */
  #reachable(late: readonly number[]): number {
    return this.#health.filter((node, i) => !late.includes(i) && !node.connecting && !node.failed).length;
  }
}
