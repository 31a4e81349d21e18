/**
 * Plays a scenario, and again if a slow moment has spoilt it.
 *
 * @param play resolves to what the slow moment has done, or to `undefined` when the scenario was judged
 * @param most how often it is played at most: a fault spoils it each time
 * @throws {Error} when it was spoilt each time
 */
export async function replayed(play: () => Promise<string | undefined>, most = 3): Promise<void> {
  let spoilt: string | undefined;
  for (let plays = 0; plays < most; plays++) {
    spoilt = await play();
    if (spoilt === undefined) return;
  }
  throw new Error(spoilt);
}
