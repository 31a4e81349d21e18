/** The milliseconds that each round took. */
export interface Rounds {
  readonly ours: number[];
  readonly reference: number[];
}

/** What is measured against what, for how long. */
export interface RoundsOptions {
  readonly ours: () => Promise<void>;
  readonly reference: () => Promise<void>;
  readonly seconds: number;
  readonly progress: (text: string) => void;
}

/** With fewer rounds a median says little, however slow the machine is. */
const MIN_ROUNDS = 10;

/** The part of the time that is spent before it counts: the compiler of the runtime takes a while to be done. */
const WARM_UP = 1 / 6;

/**
 * Measures two things in turns, each going first every other round: a machine that changes its pace then slows down
 * neighbours alike.
 */
export async function interleave({ ours, reference, seconds, progress }: RoundsOptions): Promise<Rounds> {
  const rounds: Rounds = { ours: [], reference: [] };
  const started = performance.now();
  const part = () => (performance.now() - started) / (seconds * 1_000);
  while (part() < WARM_UP) {
    await reference();
    await ours();
  }
  while (part() < 1 || rounds.ours.length < MIN_ROUNDS) {
    if (rounds.ours.length % 2 === 0) {
      rounds.reference.push(await time(reference));
      rounds.ours.push(await time(ours));
    } else {
      rounds.ours.push(await time(ours));
      rounds.reference.push(await time(reference));
    }
    progress(`${rounds.ours.length} rounds, ${Math.min(100, Math.round(part() * 100))} %`);
  }
  return rounds;
}

async function time(run: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await run();
  return performance.now() - started;
}
