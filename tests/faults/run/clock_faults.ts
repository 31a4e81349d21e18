import { type Fault, pause, serverFault } from "./fault.ts";
import type { Crew } from "./crew.ts";
import type { Random } from "../../simulation/kernel/random.ts";
import type { WorkerClocks } from "./worker_clocks.ts";

/** How far each clock is set at most, in milliseconds: two of them are apart by less than `maxClockSkew`, 10 s. */
const WITHIN = 4_900;

/** How far one clock is set, in milliseconds: more than a lease and `maxClockSkew`. */
const BEYOND = [12_500, 20_000] as const;

/** How long clocks are set, in milliseconds. */
const DURATION = [500, 4_000] as const;

/** What is known of lost data, and of clocks that were ahead. */
export class LostFences {
  readonly #now: () => number;
  #aheadUntil = 0;
  #lostAt = -Infinity;

  /** Nothing was lost yet. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Notes that documents were lost. Their fences are only outdone by clocks that have gone on since. */
  lost(): void {
    this.#lostAt = this.#now();
  }

  /** Whether a clock may be so many milliseconds behind. */
  mayBeBehind(ms: number): boolean {
    return this.#now() > this.#lostAt + ms + 1_000;
  }

  /**
   * Whether documents may be lost: no fence in them is from a clock that was ahead, or all clocks have gone on since.
   */
  mayLose(): boolean {
    return this.#now() > this.#aheadUntil;
  }

  /** Notes that clocks are up to so many milliseconds wrong, while something lasts. */
  async wrong(ms: number, during: () => Promise<void>): Promise<void> {
    this.#aheadUntil = Infinity;
    try {
      await during();
    } finally {
      this.#aheadUntil = this.#now() + ms + 1_000;
    }
  }
}

/**
 * Returns the faults of the processes' clocks.
 *
 * @param isCompared whether a caller may go by its own clock; else a wrong one excuses nothing
 */
export function clockFaults(clocks: WorkerClocks, crew: Crew, fences: LostFences, isCompared: boolean): Fault[] {
  const fault = (kind: string, breach: boolean, shiftsOf: (random: Random) => Map<number, number>): Fault =>
    serverFault(kind, breach, async (random, over) => {
      const shifts = shiftsOf(random);
      const most = Math.max(...[...shifts.values()].map(Math.abs));
      if (!fences.mayBeBehind(most)) return false;
      await fences.wrong(most, () => clocks.set(shifts, () => pause(random.spread(...DURATION), over)));
      return true;
    });
  const places = () => Array.from({ length: crew.size }, (_, place) => place);
  const apart = fault("clocks apart", false, (random) => {
    return new Map(places().map((place) => [place, random.between(-WITHIN, WITHIN)]));
  });
  return [
    apart,
    // More often than the others: all promises hold.
    apart,
    // One that does not wait may take a lock that is held, unless timers of the server decide.
    fault("clock wrong", isCompared, (random) => {
      return new Map([[random.pick(places()), random.between(...BEYOND) * random.pick([-1, 1])]]);
    }),
  ];
}
