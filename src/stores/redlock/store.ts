import { type Clock, elapsed, type Instant } from "../../_clock.ts";
import { QuorumError } from "../../errors.ts";
import type { Observer } from "../../observer.ts";
import type { Attempt, AttemptOptions, Claim, QuorumNode, Renewal, Store, Vote } from "../../store.ts";
import { candidate, coordinators, guess, nodeTimeout, quorum, type Verdict, verdict } from "./arithmetic.ts";
import { type Answer, count, majority, valueOf } from "./ballot.ts";
import { Contention } from "./contention.ts";

/** What the store of a quorum is made with, complete. */
export interface QuorumSettings {
  /** How long a node may take to answer, in milliseconds; `undefined`: by the lease. */
  readonly nodeTimeout: number | undefined;
  /** How far ahead of its own clock a node lets its counter be set, in milliseconds. */
  readonly maxClockSkew: number;
  /** The part of a lease by which clocks may drift apart while it lasts. */
  readonly driftFactor: number;
  readonly observer: Observer | undefined;
}

/** One round of votes of one handle, and what it holds after it. */
interface Round {
  /** Its id on each node. Fresh for every round, so that a late command of another round is never taken for this one. */
  readonly ids: string[];
  /** The nodes that were asked, and so may hold or queue it. */
  readonly asked: Set<number>;
  /** How many rounds of this handle nobody has won before. */
  readonly splits: number;
  /** The node in whose queue it stands. */
  queuedAt: number | undefined;
  /** The fence, once the lock is held. */
  fence: bigint | undefined;
  /** The releases on all nodes, once it is over: whatever a node grants to it later is given back as well. */
  freeing: readonly Promise<boolean>[] | undefined;
  /** The node on which it is not released, because the next round keeps its place in the queue. */
  kept: number | undefined;
}

/** A node that failed less than so many milliseconds ago coordinates only if no other one can. */
const DOWN = 1_000;

/** The longest time between two attempts of a waiter, in milliseconds: its coordinator may have died. */
const POLL = 1_000;

/** After a round that nobody has won the next one comes within so many milliseconds, after each further one twice that. */
const SPLIT = 25;

/** The longest pause between tries of the other nodes when the coordinator has granted, in milliseconds; it begins at 1. */
const HANDOVER = 16;

/** The pauses between releases on a node that fails, in milliseconds: the first one, doubled each time, the longest. */
const PAUSES = [50, 1_000] as const;

/**
 * A lock that is held on a majority of independent nodes: Redlock as the Redis documentation describes it, with the
 * queue of one of the nodes, and with fences.
 */
export class RedlockStore implements Store {
  readonly observer: Observer | undefined;
  readonly #nodes: readonly QuorumNode[];
  readonly #needed: number;
  readonly #settings: QuorumSettings;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #contention: Contention;
  readonly #rounds = new Map<string, Round>();
  /** When each node failed last. */
  readonly #failed = new Map<number, Instant>();
  /** The highest fence that this store has seen. */
  #highest = 0n;

  /** Makes a store of nodes; `random` gives numbers from 0 to 1. */
  constructor(nodes: readonly QuorumNode[], settings: QuorumSettings, clock: Clock, random: () => number) {
    this.observer = settings.observer;
    this.#nodes = nodes;
    this.#needed = quorum(nodes.length);
    this.#settings = settings;
    this.#clock = clock;
    this.#random = random;
    this.#contention = new Contention(clock);
  }

  readonly drift = (lease: number): number => lease * this.#settings.driftFactor + 2;

  get closed(): boolean {
    return this.#nodes.filter((node) => node.closed).length > this.#nodes.length - this.#needed;
  }

  async attempt(claim: Claim, { enqueue }: AttemptOptions): Promise<Attempt> {
    const round = this.#rounds.get(claim.owner) ?? this.#newRound();
    this.#rounds.set(claim.owner, round);
    const wish = guess(this.#highest, this.#clock.now().wall);
    const order = this.#order(claim.name);
    let coordinator = order[0]!;
    const votes: Promise<Vote>[] = [];
    const ask = (i: number) => votes[i] ??= this.#vote(claim, round, i, wish, enqueue && i === coordinator);
    if (round.queuedAt !== undefined || this.#contention.recent(claim.name)) {
      // The coordinator first: the first node in the order that answers, as long as there can be a majority.
      for (coordinator of order.slice(0, this.#nodes.length - this.#needed + 1)) {
        const vote = await this.#single(claim, coordinator, ask(coordinator)).catch(() => undefined);
        if (vote?.granted === false) return this.#lose(claim, round, coordinator, vote, enqueue);
        if (vote !== undefined) break;
      }
      const queue = round.queuedAt;
      this.#leaveQueue(claim, round, coordinator);
      // What it says to the waiter does not count any more: that is being released.
      if (queue !== undefined && round.queuedAt === undefined) delete votes[queue];
    }
    let { outcome, answers } = await this.#count(claim, this.#nodes.map((_, i) => ask(i)), coordinator, enqueue);
    // It is this handle's turn, but whoever held the lock before is still releasing it on the other nodes.
    for (let pause = 1; outcome === "busy" && valueOf(answers[coordinator])?.granted && pause <= HANDOVER; pause *= 2) {
      await this.#clock.sleep(pause);
      for (const [i, answer] of answers.entries()) if (valueOf(answer)?.granted === false) delete votes[i];
      ({ outcome, answers } = await this.#count(claim, this.#nodes.map((_, i) => ask(i)), coordinator, enqueue));
    }
    let fence: bigint | undefined;
    if (outcome === "granted") fence = wish;
    if (outcome === "confirm") fence = await this.#confirm(claim, round, answers);
    if (fence === undefined) {
      if (outcome === "failed") throw this.#fail(claim, round, answers);
      return this.#lose(claim, round, coordinator, valueOf(answers[coordinator]), enqueue);
    }
    round.queuedAt = undefined;
    if (fence > this.#highest) this.#highest = fence;
    round.fence = fence;
    return { granted: true, fence };
  }

  async renew(claim: Claim): Promise<Renewal> {
    const round = this.#rounds.get(claim.owner);
    if (round?.fence === undefined || round.freeing !== undefined) return "lost";
    const { fence } = round;
    const renewals = this.#nodes.map((node, i) => node.renew(as(claim, round, i)).then((is) => is === "renewed"));
    if (!await this.#majority(claim, "renew", renewals)) return "lost";
    // A node that was restarted, or whose key was deleted, gets the lock back if nobody can have held it since.
    for (const [i, renewal] of renewals.entries()) {
      renewal.then(async (renewed) => {
        if (renewed || round.freeing !== undefined) return;
        await this.#nodes[i]!.retake(as(claim, round, i), fence);
        // Released meanwhile: perhaps before it was taken again.
        if (round.freeing !== undefined) await this.#release(i, as(claim, round, i));
      }).catch(() => {});
    }
    return "renewed";
  }

  async release(claim: Claim): Promise<boolean> {
    const round = this.#rounds.get(claim.owner);
    if (round === undefined) return false;
    const freeing = this.#free(claim, round);
    // A release that is tried again waits for the same ones.
    Promise.allSettled(freeing).then(() => this.#rounds.delete(claim.owner));
    let released = false;
    if (round.fence !== undefined) {
      released = await this.#majority(claim, "release", freeing);
      await this.#settled(this.#order(claim.name)[0]!, freeing);
    } else if (round.queuedAt !== undefined) {
      released = await this.#single(claim, round.queuedAt, freeing[round.queuedAt]!);
    }
    this.#rounds.delete(claim.owner);
    return released;
  }

  async wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const round = this.#rounds.get(claim.owner);
    const i = round?.queuedAt;
    const woken = i === undefined ? undefined : this.#nodes[i]!.wakeup?.(as(claim, round!, i), signal);
    if (woken !== undefined) return await woken;
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  }

  #newRound(splits = 0): Round {
    const id = crypto.randomUUID();
    const ids = this.#nodes.map(() => id);
    return {
      ids,
      asked: new Set(),
      splits,
      queuedAt: undefined,
      fence: undefined,
      freeing: undefined,
      kept: undefined,
    };
  }

  /** The nodes in the order in which they coordinate: those that failed a moment ago come last. */
  #order(name: string): number[] {
    const now = this.#clock.now();
    const down = (i: number) => {
      const failed = this.#failed.get(i);
      return failed !== undefined && elapsed(failed, now) < DOWN ? 1 : 0;
    };
    return coordinators(name, this.#nodes.length).sort((a, b) => down(a) - down(b));
  }

  #vote(claim: Claim, round: Round, i: number, guess: bigint, enqueue: boolean): Promise<Vote> {
    const { maxClockSkew } = this.#settings;
    const mine = as(claim, round, i);
    round.asked.add(i);
    const vote = this.#nodes[i]!.vote(mine, { enqueue, guess, maxClockSkew });
    vote.catch(() => undefined).then(async (vote) => {
      // It came too late, or may yet come: the release may have overtaken it.
      const over = round.ids[i] !== mine.owner || round.freeing !== undefined && i !== round.kept;
      if (over && (vote?.granted !== false || enqueue)) await this.#release(i, mine);
    }).catch(() => {});
    return vote;
  }

  /** What one node says, within its time. */
  async #single<T>(claim: Claim, i: number, call: Promise<T>): Promise<T> {
    const answers = await this.#poll(claim, [call], ([answer]) => answer && [answer], [i]);
    const [answer] = answers;
    if (answer !== undefined && "value" in answer) return answer.value;
    throw answer?.error;
  }

  /** What nodes say, within their time. Which of them failed is remembered. */
  #poll<T, R>(
    claim: Claim,
    calls: readonly Promise<T>[],
    decide: (answers: readonly Answer<T>[]) => R | undefined,
    indices = [...calls.keys()],
  ): Promise<R> {
    const ms = this.#settings.nodeTimeout ?? nodeTimeout(claim.lease);
    const note = (answers: readonly Answer<T>[]) => {
      for (const [place, answer] of answers.entries()) {
        if (answer === undefined) continue;
        if ("error" in answer) this.#failed.set(indices[place]!, this.#clock.now());
        else this.#failed.delete(indices[place]!);
      }
      return decide(answers);
    };
    return count(calls, note, ms, this.#clock);
  }

  #count(
    claim: Claim,
    votes: readonly Promise<Vote>[],
    coordinator: number,
    enqueue: boolean,
  ): Promise<{ outcome: Verdict; answers: Answer<Vote>[] }> {
    return this.#poll(claim, votes, (answers) => {
      const outcome = this.#outcome(answers, coordinator);
      // Who is to wait must hear from the coordinator whether it stands in the queue.
      if (outcome === "busy" && enqueue && answers[coordinator] === undefined) return undefined;
      return outcome && { outcome, answers: [...answers] };
    });
  }

  #outcome(answers: readonly Answer<Vote>[], coordinator: number): Verdict | undefined {
    const votes = answers.map(valueOf);
    // Its word counts, whatever the others granted: else whoever asks again at once would overtake its queue.
    if (votes[coordinator]?.granted === false) return "busy";
    return verdict({
      nodes: answers.length,
      granted: votes.filter((vote) => vote?.granted).length,
      raised: votes.filter((vote) => vote?.granted && vote.raised).length,
      busy: votes.filter((vote) => vote?.granted === false).length,
      failed: answers.filter((answer) => answer !== undefined && "error" in answer).length,
    });
  }

  /** The second trip: a fence above every counter, if a majority confirms it. */
  async #confirm(claim: Claim, round: Round, answers: readonly Answer<Vote>[]): Promise<bigint | undefined> {
    const counters = answers.map(valueOf).map((vote) => vote?.granted ? vote.counter : undefined);
    const fence = candidate(counters.filter((counter) => counter !== undefined));
    if (fence > this.#highest) this.#highest = fence;
    const asked = counters.map((counter, i) => {
      if (counter === undefined) return Promise.resolve(false);
      return this.#nodes[i]!.confirm(as(claim, round, i), fence);
    });
    const confirmed = await this.#poll(claim, asked, (answers) => {
      return majority(answers, this.#needed) ?? (answers.includes(undefined) ? undefined : false);
    });
    return confirmed ? fence : undefined;
  }

  /** Ends a round that did not get the lock: all is given back but its place in the coordinator's queue. */
  #lose(claim: Claim, round: Round, coordinator: number, first: Vote | undefined, enqueue: boolean): Attempt {
    this.#contention.note(claim.name);
    const refused = first?.granted === false;
    const next = this.#newRound(refused ? 0 : round.splits + 1);
    if (refused && enqueue) {
      this.#leaveQueue(claim, round, coordinator);
      next.ids[coordinator] = round.ids[coordinator]!;
      next.asked.add(coordinator);
      next.queuedAt = coordinator;
    }
    round.kept = next.queuedAt;
    this.#free(claim, round);
    if (enqueue) this.#rounds.set(claim.owner, next);
    else this.#rounds.delete(claim.owner);
    if (refused) return { granted: false, retryAfter: Math.min(first.retryAfter, POLL) };
    return { granted: false, retryAfter: 1 + this.#random() * Math.min(SPLIT * 2 ** round.splits, POLL) };
  }

  #fail(claim: Claim, round: Round, answers: readonly Answer<Vote>[]): QuorumError {
    this.#free(claim, round);
    this.#rounds.delete(claim.owner);
    return this.#error(claim, "acquire", answers);
  }

  /** Gives up the place in the queue of a node that is not the coordinator any more; there the round begins anew. */
  #leaveQueue(claim: Claim, round: Round, coordinator: number): void {
    const i = round.queuedAt;
    if (i === undefined || i === coordinator) return;
    this.#release(i, as(claim, round, i)).catch(() => {});
    round.ids[i] = crypto.randomUUID();
    round.queuedAt = undefined;
  }

  /** Ends a round: releases it on all nodes that were asked, but the one that is kept. Begun once, not waited for. */
  #free(claim: Claim, round: Round): readonly Promise<boolean>[] {
    return round.freeing ??= this.#nodes.map((_, i) => {
      const asked = i !== round.kept && round.asked.has(i);
      const free = asked ? this.#release(i, as(claim, round, i)) : Promise.resolve(false);
      free.catch(() => {});
      return free;
    });
  }

  /** Releases on one node, trying again for as long as the lease could last there. */
  async #release(i: number, claim: Claim): Promise<boolean> {
    const node = this.#nodes[i]!;
    const started = this.#clock.now();
    for (let pause: number = PAUSES[0];; pause = Math.min(pause * 2, PAUSES[1])) {
      try {
        return await node.release(claim);
      } catch (error) {
        if (node.closed || elapsed(started, this.#clock.now()) >= claim.lease) throw error;
      }
      // Does not keep the process alive: what is undone meanwhile ends with its lease.
      await new Promise<void>((resolve) => this.#clock.timer(pause, resolve));
    }
  }

  /** Whoever asks next is to find the coordinator free: that is waited for too, but hardly if it hangs. */
  async #settled(coordinator: number, freeing: readonly Promise<boolean>[]): Promise<void> {
    const over = new AbortController();
    const answered = freeing[coordinator]!.then(() => true, () => true);
    const late = this.#clock.sleep(HANDOVER, over.signal).then(() => false);
    if (!await Promise.race([answered, late])) this.#failed.set(coordinator, this.#clock.now());
    over.abort("over");
  }

  /** What a majority of nodes says within their time. */
  async #majority(claim: Claim, action: string, calls: readonly Promise<boolean>[]): Promise<boolean> {
    return await this.#poll(claim, calls, (answers) => {
      const decided = majority(answers, this.#needed);
      if (decided === undefined && !answers.includes(undefined)) throw this.#error(claim, action, answers);
      return decided;
    });
  }

  #error({ name }: Claim, action: string, answers: readonly Answer<unknown>[]): QuorumError {
    const failures = answers.flatMap((answer, index) => {
      if (answer === undefined || !("error" in answer)) return [];
      return [{ index, address: this.#nodes[index]!.address, error: answer.error }];
    });
    return new QuorumError(`Cannot ${action} lock "${name}" on ${this.#needed} of ${answers.length} nodes`, failures);
  }
}

/** A claim as a node knows it. */
function as(claim: Claim, round: Round, i: number): Claim {
  return { ...claim, owner: round.ids[i]! };
}
