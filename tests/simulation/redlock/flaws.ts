import type { Clock, Instant, Timer } from "../../../src/time/clock.ts";
import type { Claim, Renewal } from "../../../src/contract/store.ts";
import type { Vote, VoteOptions } from "../../../src/contract/quorum_node.ts";
import { MemoryStore } from "../../../src/stores/memory/store.ts";
import type { MakeStore } from "./node.ts";

/** Nodes with a flaw, each of which breaks a promise: the simulator must notice every one. */
export const flaws: Readonly<Record<string, MakeStore>> = {
  "a vote for everybody": (clock) => new CredulousStore(undefined, clock),
  "a counter said to be raised that is not": (clock) => new BoastfulStore(undefined, clock),
  "a fence confirmed and not kept": (clock) => new CarelessStore(undefined, clock),
  "a counter raised to the start of a block": (clock) => new StingyStore(undefined, clock),
  "a vote that raises a counter within its block": (clock) => new OverlappingStore(undefined, clock),
  "a renewal that renews nothing": (clock) => new ObligingStore(undefined, clock),
  "a clock that runs faster than allowed": (clock) => new MemoryStore(undefined, new ScaledClock(clock, 1.1)),
  "a clock that stands still": (clock) => new MemoryStore(undefined, new ScaledClock(clock, 0)),
};

class CredulousStore extends MemoryStore {
  override async vote(claim: Claim, options: VoteOptions): Promise<Vote> {
    const vote = await super.vote(claim, options);
    return vote.granted ? vote : { granted: true, counter: options.guess, raised: true };
  }
}

class BoastfulStore extends MemoryStore {
  override async vote(claim: Claim, options: VoteOptions): Promise<Vote> {
    const vote = await super.vote(claim, options);
    return vote.granted ? { ...vote, raised: true } : vote;
  }
}

class CarelessStore extends MemoryStore {
  override confirm(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

class StingyStore extends MemoryStore {
  override vote(claim: Claim, options: VoteOptions): Promise<Vote> {
    return super.vote(claim, { ...options, end: undefined });
  }

  override confirm(claim: Claim, fence: bigint): Promise<boolean> {
    return super.confirm(claim, fence);
  }
}

class OverlappingStore extends MemoryStore {
  override vote(claim: Claim, options: VoteOptions): Promise<Vote> {
    return super.vote(claim, { ...options, guess: options.end ?? options.guess });
  }
}

class ObligingStore extends MemoryStore {
  override renew(): Promise<Renewal> {
    return Promise.resolve("renewed");
  }
}

/** A clock that runs at another rate than the one that it is made of. */
export class ScaledClock implements Clock {
  readonly #clock: Clock;
  readonly #rate: number;

  constructor(clock: Clock, rate: number) {
    this.#clock = clock;
    this.#rate = rate;
  }

  now(): Instant {
    const { monotonic, wall } = this.#clock.now();
    const gained = monotonic * (this.#rate - 1);
    return { monotonic: monotonic + gained, wall: wall + gained };
  }

  timer(ms: number, run: () => void): Timer {
    return this.#clock.timer(ms, run);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal);
  }
}
