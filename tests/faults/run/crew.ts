import { type Grant, now, type Release } from "../../verification/history/history.ts";
import type { Random } from "../../simulation/kernel/random.ts";
import { DenoProcess } from "../../support/deno_process.ts";
import { inTime } from "../../support/in_time.ts";
import { agree } from "./clocks.ts";
import type { DeadHolder, Refusal } from "./dead_holders.ts";
import type { Span } from "./fault_times.ts";
import type { Line, Remains, Work } from "./work.ts";
import type { WorkerClocks } from "./worker_clocks.ts";

/** How long a process may take to begin and to tell its time, in milliseconds. */
const PROCESS_LIMIT_MS = 120_000;

/**
 * How long a worker process may take to end, in milliseconds: its calls are served first, those of sixty stores too.
 */
const END_LIMIT_MS = 300_000;

/** What the processes of a run have written down. */
export interface Ledger {
  readonly grants: Map<string, { -readonly [Key in keyof Grant]: Grant[Key] }>;
  readonly releases: Release[];
  /** How acquires ended that were not granted. */
  readonly refused: Map<string, number>;
  /** Calls that were told that a lock is busy. */
  readonly refusals: Refusal[];
  /** Holders that died. */
  readonly dead: DeadHolder[];
  /** Calls that did not return although no fault was left. */
  readonly lost: { readonly lock: string; readonly start: number }[];
  readonly unhandled: string[];
  /** What was left of acquires that were over. */
  readonly remains: Remains[];
  /** Holders that believed that they held a lock after the end of its lease. */
  readonly overdue: Late[];
  /** Handles that were granted a lock with a fence that no grant of the store has. */
  readonly unfounded: { readonly lock: string; readonly at: number }[];
  /** Nodes of a quorum on which a lock was restored that others had had, when no majority kept it any more. */
  readonly putBack: { readonly lock: string; readonly at: number; readonly node: number }[];
  /** When processes did not run. */
  readonly stalls: Span[];
  /** How long trips to the register took, in milliseconds. */
  readonly trips: number[];
  /** What processes had open when they had closed their stores. */
  readonly unclosed: string[];
  /** Processes that ended by themselves. */
  readonly died: string[];
  /** Processes that something kept alive when they had closed their clients. */
  lingered: number;
  /** Guarded transactions that were committed, and that a fault has ended. */
  readonly guarded: { committed: number; failed: number };
  handoffs: number;
  /** Handoffs inside a process. */
  handedOn: number;
  longestWait: number;
}

/** A holder that believed that it held a lock so many milliseconds after the end of its lease. */
interface Late {
  readonly lock: string;
  readonly at: number;
  readonly ms: number;
}

/** Returns an empty ledger. */
export function ledger(): Ledger {
  const counts = { lingered: 0, handoffs: 0, handedOn: 0, longestWait: 0 };
  const observed = { remains: [], overdue: [], unfounded: [], putBack: [], stalls: [], trips: [] };
  return {
    grants: new Map(),
    releases: [],
    refused: new Map(),
    refusals: [],
    dead: [],
    lost: [],
    unhandled: [],
    died: [],
    unclosed: [],
    guarded: { committed: 0, failed: 0 },
    ...observed,
    ...counts,
  };
}

/** A process that works until it is asked to finish. */
class Worker {
  readonly ready: Promise<void>;
  /** Whether it ends because it was asked to. */
  ending = false;
  /** What it waits for since it was asked to finish. */
  endingAt: string | undefined;
  /** The fences that it holds locks with, by the owner. */
  readonly #held = new Map<string, Omit<DeadHolder, "at">>();
  readonly #process: DenoProcess;
  #ended = false;
  #asked = Promise.withResolvers<number>();
  readonly #reading: Promise<void>;
  readonly #ledger: Ledger;

  constructor(work: Work, ledger: Ledger, env: Record<string, string>) {
    this.#ledger = ledger;
    this.#process = new DenoProcess({ program: import.meta.resolve("./worker.ts"), env }, JSON.stringify(work));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ready = promise;
    this.#reading = this.#read(resolve);
  }

  signal(signal: Deno.Signal): void {
    // It may have ended already: Ctrl-C reaches all processes of a terminal.
    this.#process.signal(signal);
  }

  /** Rejects when its clock is another one than that of this process. */
  async agree(): Promise<void> {
    if (this.#ended) return;
    await agree(async () => {
      this.#asked = Promise.withResolvers();
      await this.#process.write("?");
      return await this.#asked.promise;
    }, now);
  }

  async kill(): Promise<void> {
    this.ending = true;
    await this.#process.kill();
    await this.#reading;
  }

  /** Kills it, and notes which locks it held. */
  async die(): Promise<void> {
    const at = now();
    await this.kill();
    this.#ledger.dead.push(...Array.from(this.#held.values(), (held) => ({ ...held, at })));
  }

  async finish(): Promise<void> {
    this.ending = true;
    this.endingAt = "it hears that it is to end";
    await this.#process.endInput();
    await inTime(this.#reading, END_LIMIT_MS, "the end of a worker process");
    this.endingAt = undefined;
  }

  async #read(ready: () => void): Promise<void> {
    for await (const line of this.#process.lines) {
      const entry: Line = JSON.parse(line);
      if (entry.type === "ready") ready();
      else if (entry.type === "time") this.#asked.resolve(entry.at);
      else if (entry.type === "ending") this.endingAt = entry.at;
      else {
        note(entry, this.#ledger);
        if (entry.type === "granted") this.#held.set(entry.owner, { lock: entry.lock, fence: BigInt(entry.fence) });
        else if (entry.type === "release") this.#held.delete(entry.owner);
        else if (entry.type === "died") {
          this.#ledger.dead.push({ ...this.#held.get(entry.owner)!, at: entry.at });
          this.#held.delete(entry.owner);
        }
      }
    }
    const { code, signal } = await this.#process.status;
    ready();
    this.#ended = true;
    this.#asked.reject(new Error("a worker process has ended"));
    this.#asked.promise.catch(() => {});
    if (!this.ending || code !== 0 && signal === null) {
      this.#ledger.died.push(`a worker process ended by itself, with ${signal ?? `status ${code}`}`);
    }
  }
}

/** The processes of a run. */
export class Crew implements AsyncDisposable {
  /** What they have written down. */
  readonly ledger = ledger();
  readonly #work: (seed: number, place: number) => Work;
  readonly #random: Random;
  readonly #clocks: WorkerClocks | undefined;
  readonly #workers: Worker[] = [];
  #closed = false;

  /** Makes an empty crew; `work` returns what the process at a place does, and `clocks` has the clocks of all. */
  constructor(work: (seed: number, place: number) => Work, random: Random, clocks?: WorkerClocks) {
    this.#work = work;
    this.#random = random;
    this.#clocks = clocks;
  }

  /** How many there are. */
  get size(): number {
    return this.#workers.length;
  }

  /** What each process waits for that was asked to finish. */
  get unfinished(): string[] {
    return this.#workers.flatMap(({ endingAt = [] }) => endingAt);
  }

  /** Starts the process at a place, and replaces the one that was there. */
  async start(place: number): Promise<void> {
    await (this.#clocks?.keep(() => this.#start(place)) ?? this.#start(place));
  }

  async #start(place: number): Promise<void> {
    if (this.#closed) return;
    const work = this.#work(this.#random.integer(0, 2 ** 31), place);
    const worker = new Worker(work, this.ledger, this.#clocks?.env(place) ?? {});
    this.#workers[place] = worker;
    await inTime(worker.ready, PROCESS_LIMIT_MS, "the start of a worker process");
    if (!worker.ending) await inTime(worker.agree(), PROCESS_LIMIT_MS, "the clock of a worker process");
  }

  /** Sends a signal to a process. */
  signal(place: number, signal: "SIGSTOP" | "SIGCONT"): void {
    this.#workers[place]?.signal(signal);
  }

  /** Kills a process. */
  async kill(place: number): Promise<void> {
    await this.#workers[place]?.die();
  }

  /** Rejects when their clocks and that of this process differ. */
  async agree(): Promise<void> {
    await inTime(
      Promise.all(this.#workers.map((worker) => worker.agree())),
      PROCESS_LIMIT_MS,
      "the clocks of the workers",
    );
  }

  /** Lets all of them finish what they do, and end. */
  async finish(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.finish()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#workers.map((worker) => worker.kill()));
  }
}

function note(line: Exclude<Line, { type: "ready" | "time" | "ending" }>, ledger: Ledger): void {
  switch (line.type) {
    case "granted": {
      const { type: _, waited, handedOn, fence, ...rest } = line;
      ledger.grants.set(line.owner, { ...rest, fence: BigInt(fence), acted: line.believed });
      if (waited) ledger.handoffs++;
      if (handedOn) ledger.handedOn++;
      ledger.longestWait = Math.max(ledger.longestWait, line.end - line.start);
      return;
    }
    case "section": {
      const grant = ledger.grants.get(line.owner)!;
      grant.believed = line.believed;
      grant.acted = line.acted;
      if (line.trip !== undefined) ledger.trips.push(line.trip);
      return;
    }
    case "release": {
      const { type: _, ...release } = line;
      ledger.releases.push(release);
      return;
    }
    case "died":
      return;
    case "guarded":
      ledger.guarded[line.committed ? "committed" : "failed"]++;
      return;
    case "refused":
      ledger.refused.set(line.outcome, (ledger.refused.get(line.outcome) ?? 0) + 1);
      if (line.outcome === "busy" || line.outcome === "timeout") {
        ledger.refusals.push({ lock: line.lock, start: line.start, end: line.end });
      }
      return;
    case "looked": {
      const { type: _, ...remains } = line;
      ledger.remains.push(remains);
      return;
    }
    case "overdue":
      return void ledger.overdue.push(line);
    case "unfounded":
      return void ledger.unfounded.push(line);
    case "stalled":
      return void ledger.stalls.push(line);
    case "unhandled":
      return void ledger.unhandled.push(line.message);
    case "unclosed":
      return void ledger.unclosed.push(line.what);
    case "lingering":
      return void ledger.lingered++;
    case "finished":
      ledger.lost.push(...line.pending);
  }
}
