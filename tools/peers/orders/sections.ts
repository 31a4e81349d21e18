import { pause } from "../../../bench/pause.ts";
import type { Session } from "../session.ts";
import { need } from "./order.ts";

/** Many workers that want one lock all the time. */
export interface Sections {
  readonly name: string;
  readonly workers: number;
  readonly sections: number;
}

/** What became of them. */
export interface SectionsDone {
  /** How long each section that was entered had waited, in milliseconds. */
  readonly waits: number[];
  /** Sections that were given up, because the library did. */
  readonly failures: number;
}

/** How long a section lasts, in milliseconds. */
const SECTION = 1;

export async function sections(session: Session, { name, workers, sections }: Sections): Promise<SectionsDone> {
  const lock = need(session, "lock");
  const waits: number[] = [];
  let failures = 0;
  await Promise.all(Array.from({ length: workers }, async () => {
    for (let section = 0; section < sections; section++) {
      const asked = performance.now();
      try {
        const release = await lock(name);
        waits.push(performance.now() - asked);
        await pause(SECTION);
        await release();
      } catch {
        failures++;
      }
    }
  }));
  return { waits, failures };
}
