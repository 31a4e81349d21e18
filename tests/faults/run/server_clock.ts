import { ProcessClock } from "../../support/process_clock.ts";
import { type Fault, pause, serverFault } from "./fault.ts";

/** How far the clock is set, in milliseconds: more than a lease, at the most. */
const SHIFT = [100, 3_000] as const;

/**
 * The wall clock of a server, from which fences come. One from a clock that is ahead is only known where it is kept:
 * while it is ahead nothing may get lost. And one that was lost is only outdone by a clock that has gone on since: it
 * is not set back right after a loss.
 */
export class ServerClock implements Disposable {
  readonly #clock: ProcessClock;
  #aheadUntil = 0;
  #lostAt = -Infinity;

  private constructor(clock: ProcessClock) {
    this.#clock = clock;
  }

  /** Makes a clock that shows the true time. */
  static async make(): Promise<ServerClock> {
    return new ServerClock(await ProcessClock.make());
  }

  /** What the process of the server must find in its environment. */
  get env(): Record<string, string> {
    return this.#clock.env;
  }

  /** Returns whether data may be lost now. */
  readonly mayLose = (): boolean => performance.now() > this.#aheadUntil;

  /** Returns the same fault, after which the clock is not set back for a while if data was lost. */
  noting(fault: Fault): Fault {
    if (!fault.breach) return fault;
    return {
      ...fault,
      inject: async (random, over, endBreach) => {
        try {
          return await fault.inject(random, over, endBreach);
        } finally {
          this.#lostAt = performance.now();
        }
      },
    };
  }

  /** Returns the fault that sets it. A jump ahead ends leases, and so does the return from a jump back. */
  setting(): Fault {
    return serverFault("clock set", true, async (random, over) => {
      const [distance, direction] = [random.spread(...SHIFT), random.pick([-1, 1])];
      const mayBeBehind = performance.now() > this.#lostAt + SHIFT[1];
      const ms = mayBeBehind ? distance * direction : distance;
      this.#aheadUntil = Infinity;
      this.#clock.shift(ms);
      await pause(random.spread(10, 2_000), over);
      this.#clock.shift(0);
      this.#aheadUntil = performance.now() + Math.max(ms, 0) + 1_000;
    });
  }

  [Symbol.dispose](): void {
    this.#clock[Symbol.dispose]();
  }
}
