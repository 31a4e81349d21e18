import type { Contender } from "../contender.ts";
import type { Stage } from "../stage.ts";

/** What a library did. */
export interface Observation {
  /** Whether it did what its user would hope for. */
  readonly well: boolean;
  readonly text: string;
}

/** A situation, and what is to be seen in it. */
export interface Behaviour {
  /** The name of its script. */
  readonly name: string;
  /** The situation, in a few words. */
  readonly title: string;
  /** Which libraries can be brought into it. */
  readonly suits: (contender: Contender) => boolean;
  /** Whether the settings that suit the library best are used, rather than its defaults. */
  readonly tuned: boolean;
  readonly observe: (contender: Contender, stage: Stage) => Promise<Observation>;
}

/** Words for a time in milliseconds. */
export function ms(time: number): string {
  return time >= 10_000 ? `${(time / 1_000).toFixed(0)} s` : `${Math.round(time).toLocaleString("en")} ms`;
}
