import type { Clock } from "../../_clock.ts";
import type { Observer } from "../../observer.ts";
import type { Attempt, AttemptOptions, Capability, Claim, QuorumNode, Renewal, Store } from "../../store.ts";
import { guess } from "./arithmetic.ts";
import { Contention } from "./contention.ts";
import { Election } from "./election.ts";
import { Nodes } from "./nodes.ts";
import { Round } from "./round.ts";
import { Rounds } from "./rounds.ts";

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

/** The longest time between two attempts of a waiter, in milliseconds: its coordinator may have died. */
const POLL = 1_000;

/** After a round that nobody has won the next one comes within so many milliseconds, after each further one twice that. */
const SPLIT = 25;

/**
 * A lock that is held on a majority of independent nodes: Redlock as the Redis documentation describes it, with the
 * queue of one of the nodes, and with fences.
 */
export class RedlockStore implements Store {
  readonly capabilities: readonly Capability[] = ["shared"];
  readonly observer: Observer | undefined;
  readonly #nodes: Nodes;
  readonly #settings: QuorumSettings;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #contention: Contention;
  readonly #rounds: Rounds;
  /** The highest fence that this store has seen. */
  #highest = 0n;

  /** Makes a store of nodes; `random` gives numbers from 0 to 1. */
  constructor(nodes: readonly QuorumNode[], settings: QuorumSettings, clock: Clock, random: () => number) {
    this.observer = settings.observer;
    this.#nodes = new Nodes(nodes, settings.nodeTimeout, clock);
    this.#settings = settings;
    this.#clock = clock;
    this.#random = random;
    this.#contention = new Contention(clock);
    this.#rounds = new Rounds(clock, this.#contention);
  }

  readonly drift = (lease: number): number => lease * this.#settings.driftFactor + 2;

  get closed(): boolean {
    const { list, needed } = this.#nodes;
    return list.filter((node) => node.closed).length > list.length - needed;
  }

  async attempt(claim: Claim, { enqueue }: AttemptOptions): Promise<Attempt> {
    this.#rounds.sweep();
    const before = this.#rounds.of(claim.owner);
    // Who asks again was refused, or nobody had won.
    const contended = before !== undefined || this.#contention.expected(claim.name);
    const round = before ?? new Round(this.#nodes);
    const now = this.#clock.now();
    this.#rounds.keep(claim, round, now);
    const options = {
      enqueue,
      guess: guess(this.#highest, now.wall),
      maxClockSkew: this.#settings.maxClockSkew,
    };
    const election = new Election(this.#nodes, round, claim, options, this.#clock, this.#random);
    const result = await election.hold(contended);
    if (election.highest > this.#highest) this.#highest = election.highest;
    if (result.outcome === "won") {
      const { fence } = result;
      round.win(fence);
      this.#rounds.keep(claim, round);
      return { granted: true, fence };
    }
    if (result.outcome === "failed") {
      this.#rounds.forget(claim);
      round.free(claim, election.coordinator);
      throw this.#nodes.error(claim, "acquire", result.answers);
    }
    // All is given back but its place in the queue of the coordinator.
    this.#contention.note(claim.name);
    const { refusal } = result;
    if (enqueue) this.#rounds.keep(claim, round.next(claim, refusal && election.coordinator));
    else this.#rounds.forget(claim);
    round.free(claim, election.coordinator);
    if (refusal !== undefined) return { granted: false, retryAfter: Math.min(refusal.retryAfter, POLL) };
    return { granted: false, retryAfter: 1 + this.#random() * Math.min(SPLIT * 2 ** round.splits, POLL) };
  }

  async renew(claim: Claim): Promise<Renewal> {
    const round = this.#rounds.of(claim.owner);
    if (round?.fence === undefined || round.over) return "lost";
    const renewals = this.#nodes.list.map((node, i) => {
      return node.renew(round.claim(claim, i)).then((renewal) => renewal === "renewed");
    });
    if (!await this.#nodes.majority(claim, "renew", renewals)) return "lost";
    if (!round.over) this.#rounds.keep(claim, round);
    // A node that was restarted, or whose key was deleted, gets the lock back if nobody can have held it since.
    for (const [i, renewal] of renewals.entries()) {
      renewal.then((renewed) => renewed ? undefined : round.retake(claim, i), () => {});
    }
    return "renewed";
  }

  async release(claim: Claim): Promise<boolean> {
    const round = this.#rounds.of(claim.owner);
    if (round === undefined) return false;
    // When it fails the round is kept: a release that is tried again waits for the same ones.
    const coordinator = this.#nodes.coordinator(claim.name);
    const freeing = round.free(claim, coordinator);
    let released = false;
    if (round.fence !== undefined) {
      released = await this.#nodes.released(claim, coordinator, freeing);
    } else if (round.queuedAt !== undefined) {
      released = await this.#nodes.single(claim, round.queuedAt, freeing[round.queuedAt]!);
    }
    this.#rounds.forget(claim);
    return released;
  }

  async wakeup(claim: Claim, signal: AbortSignal): Promise<void> {
    const round = this.#rounds.of(claim.owner);
    const i = round?.queuedAt;
    const woken = i === undefined ? undefined : this.#nodes.list[i]!.wakeup?.(round!.claim(claim, i), signal);
    if (woken !== undefined) return await woken;
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
  }
}
