import type { Attempt, AttemptOptions, Claim, Kind, Store } from "../../../src/contract/store.ts";
import { handleOf } from "../../../src/contract/store.ts";
import type { Process } from "./process.ts";
import type { Tenure } from "./server.ts";

/** What a task asks for. */
export interface Wish {
  readonly name: string;
  readonly kind: Kind;
  readonly owner: string | undefined;
  readonly lease: number;
  /** How long it waits, in milliseconds; 0: it does not. */
  readonly wait: number;
  readonly steals: boolean;
  /** Whether it is one of several names, or asked for like that. */
  readonly joint: boolean;
  /** Whether it is never released, nor renewed. */
  readonly forgotten: boolean;
  /** For how long it is kept at the least, also when it is released before, in milliseconds. */
  readonly atLeast: number;
}

/** Whatever a caller holds: a lock, or several. */
export interface Held {
  readonly held: boolean;
  readonly signal: AbortSignal;
  release(): Promise<void>;
  extend(lease?: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** One handle, as its caller sees it. */
export class Handle implements Wish {
  readonly label: string;
  readonly process: Process;
  /** The store that it was asked from. */
  readonly store: Store;
  declare readonly name: string;
  declare readonly kind: Kind;
  declare readonly owner: string | undefined;
  declare readonly lease: number;
  declare readonly wait: number;
  declare readonly steals: boolean;
  declare readonly joint: boolean;
  declare readonly forgotten: boolean;
  declare readonly atLeast: number;
  readonly begunAt: number;
  /**
   * Which attempt of all was its first one, or its first one that was to wait: those who came earlier have a smaller
   * one.
   */
  place = Infinity;
  #enqueues = false;
  phase: "waiting" | "held" | "over" = "waiting";
  /** The shortest lease that it was extended to. */
  shortest = Infinity;
  /** How many of its attempts were not answered. */
  asking = 0;
  /** How its last attempt ended. */
  answer: "busy" | "conflict" | "granted" | "fault" | undefined;
  /** Whether one of its attempts has failed. */
  faulted = false;
  aborted = false;
  held: Held | undefined;
  fence: bigint | undefined;
  tenure: Tenure | undefined;
  /** When its release was answered, or its call had failed. */
  settledAt = Infinity;
  /** The ids under which it has asked, one after the other. */
  readonly ids: string[] = [];

  constructor(wish: Wish, label: string, process: Process, store: Store) {
    Object.assign(this, wish);
    this.label = label;
    this.process = process;
    this.store = store;
    this.begunAt = process.clock.now().monotonic;
  }

  /** Whether its caller believes that it has the lock. */
  get believes(): boolean {
    return this.phase === "held" && this.held!.held;
  }

  /** Whether it waits, and may be handed the lock: it does not pause after a fault, and is on time. */
  get isReady(): boolean {
    return this.phase === "waiting" && !this.aborted && this.wait > 0 && this.asking === 0 && this.answer === "busy";
  }

  /** Notes that its caller was not told the last answer. */
  lost(): void {
    this.answer = "fault";
    this.faulted = true;
  }

  /** Notes an attempt that it makes at its store. */
  attempted(claim: Claim, { enqueue }: AttemptOptions, answer: Promise<Attempt>, place: number): void {
    if (this.place === Infinity || enqueue && !this.#enqueues) this.place = place;
    this.#enqueues ||= enqueue;
    const id = handleOf(claim);
    if (this.ids.at(-1) !== id) this.ids.push(id);
    this.asking++;
    answer.then((attempt) => {
      this.asking--;
      this.answer = attempt.granted ? "granted" : "conflict" in attempt ? "conflict" : "busy";
    }, () => {
      this.asking--;
      this.answer = "fault";
      this.faulted = true;
    });
  }
}
