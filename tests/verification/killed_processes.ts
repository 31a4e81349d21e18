import { assert } from "@std/assert";
import { LockLostError, type Store } from "@holdfast/lock";
import { acquireFrom } from "../../src/lock/acquisition.ts";
import type { Clock } from "../../src/time/clock.ts";
import { checkAcquireOptions } from "../../src/lock/options.ts";
import { Random } from "../simulation/kernel/random.ts";
import { MortalProcess, type Phase, type Sharing } from "./mortal_process.ts";

/** How processes use the store, and what they are killed in the middle of, if it comes to that soon. */
const SORTS: readonly { readonly sharing: Sharing; readonly wanted: readonly Phase[] }[] = [
  { sharing: "runs", wanted: ["run", "call"] },
  { sharing: { keep: 10 }, wanted: ["block", "call"] },
  { sharing: { keep: 20, linger: 5 }, wanted: ["block", "linger", "call"] },
];

/** How long that is waited for, in milliseconds. */
const PATIENCE_MS = 6;

/** How many processes there are at a time, and tasks in each. */
const PROCESSES = 2;
const TASKS = 3;

/** Where processes are killed. */
export interface Place {
  readonly store: Store;
  readonly clock: Clock;
  /** Lets so many milliseconds pass. */
  pass(ms: number): Promise<void>;
  /** Whether to wait sometimes until what a process has left behind has expired. */
  readonly expires: boolean;
}

/** How often processes were killed in the middle of what, and how many fences were seen. */
export interface Killed {
  readonly phases: Record<Phase, number>;
  readonly fences: number;
}

/** Kills processes of which one follows the other, in the middle of whatever they do; fails unless all fences rise. */
export async function killProcesses(place: Place, kills: number, seed: number): Promise<Killed> {
  const world = new World(place, new Random(seed));
  for (let i = 0; i < kills; i++) await world.kill();
  await world.end();
  return world;
}

class World implements Killed {
  readonly phases: Record<Phase, number> = { run: 0, block: 0, linger: 0, call: 0, other: 0 };
  fences = 0;
  readonly #place: Place;
  readonly #random: Random;
  readonly #processes: { readonly process: MortalProcess; readonly wanted: readonly Phase[] }[];
  #highest = 0n;
  #failure: Error | undefined;

  constructor(place: Place, random: Random) {
    this.#place = place;
    this.#random = random;
    this.#processes = Array.from({ length: PROCESSES }, () => this.#start());
  }

  /** Kills a process, and starts another one once it is seen that the lock goes on. */
  async kill(): Promise<void> {
    const random = this.#random;
    const at = random.integer(0, PROCESSES - 1);
    const { process: victim, wanted: phases } = this.#processes[at]!;
    const wanted = random.pick(phases);
    if (wanted === "call") victim.killWithCall(random.integer(1, 4), random.chance(0.5));
    for (let passed = 0; passed < PATIENCE_MS && victim.phase === undefined && victim.present !== wanted; passed++) {
      await this.#place.pass(1);
    }
    victim.kill();
    this.phases[victim.phase!]++;
    // What it leaves ends at this very moment, so that the next fence cannot rise by the time alone.
    if (!this.#place.expires || random.chance(0.995)) await victim.bury();
    const { fences } = this;
    this.#processes[at] = this.#start();
    for (let passes = 0; this.fences === fences && this.#failure === undefined; passes++) {
      assert(passes < 500, "nobody is granted the lock any more");
      await this.#place.pass(passes < 100 ? Math.min(passes, 1) : 100);
    }
    if (this.#failure !== undefined) throw this.#failure;
    await victim.bury();
  }

  /** Kills all. */
  async end(): Promise<void> {
    for (const { process } of this.#processes) {
      process.kill();
      await process.bury();
    }
  }

  #start(): { process: MortalProcess; wanted: readonly Phase[] } {
    const { sharing, wanted } = this.#random.pick(SORTS);
    const process = new MortalProcess(this.#place.store, this.#place.clock, sharing);
    const random = this.#random.fork();
    for (let task = 0; task < TASKS; task++) {
      this.#work(process, random.fork()).catch((error) => {
        if (process.phase === undefined) this.#failure ??= error;
      });
    }
    return { process, wanted };
  }

  /** Acquires the lock again and again, until the process is killed. */
  async #work(process: MortalProcess, random: Random): Promise<void> {
    const settings = checkAcquireOptions({ lease: 1_000, wait: Infinity });
    for (;;) {
      process.waiting++;
      const lock = await acquireFrom(process.store, "a", settings, process.clock);
      if (process.phase !== undefined) return;
      process.waiting--;
      process.holding++;
      this.#got(process, lock!.fence);
      if (random.chance(0.5)) await process.clock.sleep(1);
      process.holding--;
      // On a busy machine it may be lost before: the server's time passes faster than that of its clients.
      await lock!.release().catch((error) => {
        if (!(error instanceof LockLostError)) throw error;
      });
      await process.clock.sleep(random.integer(1, 4));
    }
  }

  #got(process: MortalProcess, fence: bigint): void {
    if (fence <= this.#highest) this.#failure ??= new Error(`fence ${fence} after ${this.#highest}`);
    this.#highest = fence;
    this.fences++;
    process.got(fence);
  }
}
