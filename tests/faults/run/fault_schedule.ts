import { type Breach, now } from "../../verification/history/history.ts";
import type { Random } from "../../simulation/kernel/random.ts";
import { type Fault, pause } from "./fault.ts";

/** The time between two faults that happen to the same, in milliseconds. */
const GAP = [100, 1_000] as const;

/** A fault that has happened, or is happening. */
export interface Happening extends Breach {
  readonly fault: Fault;
  /** When it was over, or when the breach was; infinite while it lasts. */
  end: number;
  /** Whether everything works again. */
  over: boolean;
}

/** How often a kind of fault may be due before it must have happened: another one may be in its way for a while. */
const CHANCES = 6;

/** Faults that happen one after the other to each of the things that they can happen to. */
export class FaultSchedule {
  /** In the order in which they began. */
  readonly happenings: Happening[] = [];
  /** What went wrong with faults that were to happen. */
  readonly failures: string[] = [];
  /** How often each kind of fault was due, and how often it happened. */
  readonly #tried = new Map<string, { due: number; happened: number }>();
  /** What is still to happen to each of the things, before anything happens to it again. */
  readonly #decks = new Map<string, Fault[]>();

  /** Lets them happen until the signal aborts; resolves when everything is well again. */
  async run(faults: readonly Fault[], random: Random, over: AbortSignal): Promise<void> {
    const kinds = Map.groupBy(faults, ({ where }) => where);
    await Promise.all([...kinds].map(([where, faults]) => this.#happen(where, faults, random.fork(), over)));
  }

  /** The kinds of faults that were due often enough, and never happened. */
  get missing(): string[] {
    const never = [...this.#tried].filter(([, { due, happened }]) => due >= CHANCES && happened === 0);
    return never.map(([kind, { due }]) => `"${kind}" was due ${due} times, and could never happen`);
  }

  /** What is happening now. */
  get now(): readonly string[] {
    return this.happenings.filter(({ over }) => !over).map(({ what }) => what);
  }

  async #happen(where: string, faults: readonly Fault[], random: Random, over: AbortSignal): Promise<void> {
    let deck = this.#decks.get(where) ?? [];
    while (!over.aborted) {
      await pause(random.between(...GAP), over);
      if (over.aborted) return;
      // Each of them comes before any comes again.
      if (deck.length === 0) this.#decks.set(where, deck = [...faults]);
      const fault = deck.splice(random.integer(0, deck.length - 1), 1)[0]!;
      const happening: Happening = { fault, what: fault.kind, start: now(), end: Infinity, over: false };
      this.happenings.push(happening);
      const tried = this.#tried.get(fault.kind) ?? { due: 0, happened: 0 };
      this.#tried.set(fault.kind, tried);
      let happened = false;
      try {
        happened = await fault.inject(random.fork(), over, () => happening.end = now());
      } catch (error) {
        this.failures.push(`${fault.kind}: ${error instanceof Error ? error.message : error}`);
      }
      if (happened) tried.happened++;
      // One that the end has overtaken has had no chance.
      if (happened || !over.aborted) tried.due++;
      happening.over = true;
      if (happening.end === Infinity) happening.end = now();
      // One that failed may have happened in part.
      if (!happened && !fault.breach) this.happenings.splice(this.happenings.indexOf(happening), 1);
    }
  }
}
