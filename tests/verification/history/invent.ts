import type { Random } from "../../simulation/kernel/random.ts";
import type { History, Write } from "./history.ts";

/** A history that can be changed. */
export type Draft = { -readonly [Part in keyof History]: History[Part][number][] };

/**
 * Makes up what a fenced mutex could have done: holders take turns, some are paused beyond their lease and come back to
 * a resource that refuses them, and calls last longer than what they do.
 */
export function invent(random: Random, sections: number): Draft {
  const draft: Draft = { grants: [], releases: [], writes: [], breaches: [] };
  for (const lock of ["a", "b"]) inventFor(lock, draft, random, sections);
  return draft;
}

function inventFor(lock: string, draft: Draft, random: Random, sections: number): void {
  let time = 1_000;
  let fence = BigInt(random.integer(1, 1_000));
  let value = 0;
  const late: Write[] = [];
  for (let i = 0; i < sections; i++) {
    const owner = `${lock}${i}`;
    fence += BigInt(random.integer(1, 5));
    const granted = time + random.between(0, 5);
    const believed = granted + random.between(2, 10);
    const lost = random.chance(0.2);
    const acted = lost ? believed + random.between(0, 50) : believed;
    const start = granted - random.spread(1, 500);
    draft.grants.push({ lock, owner, fence, start, end: granted + random.between(0, 2), believed, acted });
    // Whoever is paused comes to the resource after its successors have been there.
    if (lost) late.push({ lock, fence, value: value + 1, accepted: false, at: acted });
    else draft.writes.push({ lock, fence, value: ++value, accepted: true, at: believed });
    const outcome = lost ? "lost" : random.chance(0.1) ? "unknown" : "released";
    const released = (lost ? acted : believed) + random.between(0, 1);
    draft.releases.push({ lock, owner, start: released, end: released + random.between(1, 20), outcome });
    time = believed + random.between(1, 20);
  }
  draft.writes.push(...late);
}
