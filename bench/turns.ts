/** What is measured in turns, and how. */
export interface TurnsOptions<T> {
  /** Runs one round of a side. */
  readonly measure: (side: number, round: number) => Promise<T>;
  /** How many things are compared. */
  readonly sides: number;
  readonly rounds: number;
}

/**
 * Measures several things in turns, round by round, each round beginning with another one: a machine that changes its
 * pace then slows down all of them alike. Gives the results of each side, in the order of the rounds.
 */
export async function takeTurns<T>({ measure, sides, rounds }: TurnsOptions<T>): Promise<T[][]> {
  const results = Array.from({ length: sides }, (): T[] => []);
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < sides; turn++) {
      const side = (turn + round) % sides;
      results[side]!.push(await measure(side, round));
    }
  }
  return results;
}
