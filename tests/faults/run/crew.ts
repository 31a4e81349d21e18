import type { Grant, Release } from "../../history/history.ts";
import type { Random } from "../../simulation/random.ts";
import { withoutCoverage } from "../../without_coverage.ts";
import { inTime } from "../in_time.ts";
import { lines } from "../lines.ts";
import type { Line, Work } from "./work.ts";

/** How long a process may take to begin, and to end when it is told to, in milliseconds. */
const PATIENCE = 120_000;

/** What the processes of a run have written down. */
export interface Ledger {
  readonly grants: Map<string, { -readonly [Key in keyof Grant]: Grant[Key] }>;
  readonly releases: Release[];
  /** How acquires ended that were not granted. */
  readonly refused: Map<string, number>;
  /** Calls that did not return although nothing was in the way any more. */
  readonly lost: { readonly lock: string; readonly start: number }[];
  readonly unhandled: string[];
  /** Processes that ended by themselves. */
  readonly died: string[];
  /** Processes that something kept alive when they had closed their clients. */
  lingered: number;
  handoffs: number;
  longestWait: number;
}

/** An empty one. */
export function ledger(): Ledger {
  const counts = { lingered: 0, handoffs: 0, longestWait: 0 };
  return { grants: new Map(), releases: [], refused: new Map(), lost: [], unhandled: [], died: [], ...counts };
}

/** A process that works until it is told to finish. */
class Worker {
  readonly ready: Promise<void>;
  /** Whether it ends because it was told to. */
  ending = false;
  readonly #process: Deno.ChildProcess;
  readonly #reading: Promise<void>;
  readonly #ledger: Ledger;

  constructor(work: Work, ledger: Ledger) {
    this.#ledger = ledger;
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", import.meta.resolve("./worker.ts"), JSON.stringify(work)],
      clearEnv: true,
      env: withoutCoverage(),
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ready = promise;
    this.#reading = this.#read(resolve);
  }

  signal(signal: Deno.Signal): void {
    try {
      this.#process.kill(signal);
    } catch (error) {
      // It has ended already: Ctrl-C reaches all processes of a terminal.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  async kill(): Promise<void> {
    this.ending = true;
    this.signal("SIGKILL");
    await this.#reading;
    // Nothing is to be written to a process that is gone.
    await this.#process.stdin.abort().catch(() => {});
  }

  async finish(): Promise<void> {
    this.ending = true;
    await this.#process.stdin.close().catch(() => {});
    await inTime(this.#reading, PATIENCE, "the end of a worker process");
  }

  async #read(ready: () => void): Promise<void> {
    for await (const line of lines(this.#process.stdout)) {
      const entry: Line = JSON.parse(line);
      if (entry.type === "ready") ready();
      else note(entry, this.#ledger);
    }
    const { code, signal } = await this.#process.status;
    ready();
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
  readonly #workers: Worker[] = [];
  #closed = false;

  /** Nobody yet; `work` gives what the process at a place does. */
  constructor(work: (seed: number, place: number) => Work, random: Random) {
    this.#work = work;
    this.#random = random;
  }

  /** How many there are. */
  get size(): number {
    return this.#workers.length;
  }

  /** Starts the process at a place, in the stead of the one that was there. */
  async start(place: number): Promise<void> {
    if (this.#closed) return;
    const worker = new Worker(this.#work(this.#random.integer(0, 2 ** 31), place), this.ledger);
    this.#workers[place] = worker;
    await inTime(worker.ready, PATIENCE, "the start of a worker process");
  }

  /** Sends a signal to a process. */
  signal(place: number, signal: "SIGSTOP" | "SIGCONT"): void {
    this.#workers[place]?.signal(signal);
  }

  /** Kills a process. */
  async kill(place: number): Promise<void> {
    await this.#workers[place]?.kill();
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

function note(line: Exclude<Line, { type: "ready" }>, ledger: Ledger): void {
  switch (line.type) {
    case "granted": {
      const { type: _, waited, fence, ...rest } = line;
      ledger.grants.set(line.owner, { ...rest, fence: BigInt(fence), acted: line.believed });
      if (waited) ledger.handoffs++;
      ledger.longestWait = Math.max(ledger.longestWait, line.end - line.start);
      return;
    }
    case "section": {
      const grant = ledger.grants.get(line.owner)!;
      grant.believed = line.believed;
      grant.acted = line.acted;
      return;
    }
    case "release": {
      const { type: _, ...release } = line;
      ledger.releases.push(release);
      return;
    }
    case "refused":
      ledger.refused.set(line.outcome, (ledger.refused.get(line.outcome) ?? 0) + 1);
      return;
    case "unhandled":
      ledger.unhandled.push(line.message);
      return;
    case "lingering":
      ledger.lingered++;
      return;
    case "finished":
      ledger.lost.push(...line.pending);
  }
}
