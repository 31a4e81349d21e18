/** How far ahead of the clock the end of a block may be, in microseconds, unless its start is. */
const MAX_AHEAD_US = 10_000n;

/** Consecutive fences, both ends included. */
export interface FenceBlock {
  readonly start: bigint;
  readonly end: bigint;
}

export interface BlockOptions {
  readonly fences?: number | undefined;
  /** How far ahead of its clock a node lets its counter be set, in milliseconds. */
  readonly maxClockSkew: number;
}

/**
 * Returns the block that begins with a fence. The block ends at most 10 ms ahead of the clock (in milliseconds), and no
 * further than nodes with the same clock allow; but it has at least one fence.
 */
export function blockFrom(start: bigint, wall: number, { fences = 1, maxClockSkew }: BlockOptions): FenceBlock {
  if (fences === 1) return { start, end: start };
  const allowed = microseconds(maxClockSkew);
  const latest = microseconds(wall) + (allowed < MAX_AHEAD_US ? allowed : MAX_AHEAD_US);
  const wanted = start + BigInt(fences) - 1n;
  const end = wanted < latest ? wanted : latest;
  return { start, end: end > start ? end : start };
}

/** The highest fence that a store has won or has asked a majority to confirm. It never asks for this fence again. */
export class HighestFence {
  #fence = 0n;

  /** Records the end of a block that was won or that a majority is asked to confirm. */
  note(fence: bigint): void {
    if (fence > this.#fence) this.#fence = fence;
  }

  /** Returns the fence to ask for next: above this fence, and not below the clock (in milliseconds). */
  guess(wall: number): bigint {
    const clock = microseconds(wall);
    return clock > this.#fence ? clock : this.#fence + 1n;
  }
}

/** Returns a fence above the counters of a majority of nodes. */
export function candidate(counters: readonly bigint[]): bigint {
  return counters.reduce((highest, counter) => counter > highest ? counter : highest, 0n) + 1n;
}

function microseconds(milliseconds: number): bigint {
  return BigInt(Math.floor(milliseconds * 1_000));
}
