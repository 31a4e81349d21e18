/** Returns the fence that a round asks for first: above the highest one seen, and not below the clock (in milliseconds). */
export function guess(highest: bigint, wall: number): bigint {
  const clock = BigInt(Math.floor(wall * 1_000));
  return clock > highest ? clock : highest + 1n;
}

/** The highest fence that a store has won, or has asked a majority to confirm. It never asks for that one again. */
export class HighestFence {
  #fence = 0n;

  /** Notes a fence that was won, or that a majority is asked to confirm. */
  note(fence: bigint): void {
    if (fence > this.#fence) this.#fence = fence;
  }

  /** Returns the fence to ask for next. */
  guess(wall: number): bigint {
    return guess(this.#fence, wall);
  }
}

/** Returns a fence above all counters that a majority of nodes has answered. */
export function candidate(counters: readonly bigint[]): bigint {
  return counters.reduce((highest, counter) => counter > highest ? counter : highest, 0n) + 1n;
}
