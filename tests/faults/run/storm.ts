import { type Breach, now } from "../../history/history.ts";
import type { Random } from "../../simulation/random.ts";
import { type Fault, pause } from "./fault.ts";

/** The time between two faults that happen to the same, in milliseconds. */
const GAP = [200, 2_000] as const;

/** A fault that has happened, or is happening. */
export interface Happening extends Breach {
  readonly fault: Fault;
  /** When it was over, or when the breach was; infinite while it lasts. */
  end: number;
  /** Whether all is well again. */
  over: boolean;
}

/** Faults that happen one after the other to each of the things that they can happen to. */
export class Storm {
  /** In the order in which they began. */
  readonly happenings: Happening[] = [];
  /** What went wrong with faults that were to happen. */
  readonly failures: string[] = [];

  /** Lets them happen until the signal aborts; resolves when everything is well again. */
  async rage(faults: readonly Fault[], random: Random, over: AbortSignal): Promise<void> {
    const kinds = Map.groupBy(faults, ({ where }) => where);
    await Promise.all([...kinds.values()].map((faults) => this.#rage(faults, random.fork(), over)));
  }

  /** What is happening now. */
  get now(): readonly string[] {
    return this.happenings.filter(({ over }) => !over).map(({ what }) => what);
  }

  async #rage(faults: readonly Fault[], random: Random, over: AbortSignal): Promise<void> {
    let deck: Fault[] = [];
    while (!over.aborted) {
      await pause(random.between(...GAP), over);
      if (over.aborted) return;
      // Each of them comes before any comes again.
      if (deck.length === 0) deck = [...faults];
      const fault = deck.splice(random.integer(0, deck.length - 1), 1)[0]!;
      const happening: Happening = { fault, what: fault.kind, start: now(), end: Infinity, over: false };
      this.happenings.push(happening);
      let happened = false;
      try {
        happened = await fault.inject(random.fork(), over, () => happening.end = now());
      } catch (error) {
        this.failures.push(`${fault.kind}: ${error instanceof Error ? error.message : error}`);
      }
      happening.over = true;
      if (happening.end === Infinity) happening.end = now();
      // One that failed may have happened in part.
      if (!happened && !fault.breach) this.happenings.splice(this.happenings.indexOf(happening), 1);
    }
  }
}
