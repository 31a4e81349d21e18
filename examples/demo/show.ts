import { type Count, count, WORKERS } from "./counting.ts";
import type { Crew } from "./crew.ts";
import { Progress, say, table, title } from "./screen.ts";
import { freeze, kill, type Late, LEASE, probe } from "./takeover.ts";

/** How long a dead holder's lock may stay unused after the end of its lease, in milliseconds, on a busy machine. */
const TAKEOVER_MARGIN = 2_000;

/** Shows everything, in order; gives whether all that a lock promises held. */
export async function show(crew: Crew): Promise<boolean> {
  const { redis, sections } = crew.run;
  const where = redis === undefined ? "an SQLite file" : `Redis at ${new URL(redis).host}`;
  try {
    await probe(crew);
  } catch (error) {
    throw new Error(`Cannot use ${where}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
  console.log(`A lock lets one process at a time do something. Here is one at work, on ${where}.`);

  title("1. Without a lock");
  say(`${WORKERS} processes raise a counter in a shared file, ${sections} times each: read it, add 1, write it back.`);
  const unlocked = await watch(crew, false);

  title("2. With a lock");
  say("The same, but only whoever holds the lock may touch the file; the others wait in line.");
  const locked = await watch(crew, true);

  title("3. A holder dies");
  say(`A lock is lent for ${LEASE / 1000} s at a time, and lent again for as long as its holder lives.`);
  const takeover = await kill(crew, say);

  title("4. A holder falls asleep, and wakes up too late");
  say("Each holder gets a number, the fence, larger than all before. What it writes to refuses smaller ones.");
  const late = await freeze(crew, say);

  title("Summary");
  report(unlocked, locked, takeover, late);
  const broken = [
    ...(locked.lost === 0 ? [] : ["no update is lost under the lock"]),
    ...(locked.rising ? [] : ["fences rise"]),
    ...(takeover <= LEASE + TAKEOVER_MARGIN ? [] : ["the lock of a dead holder is taken over when its lease ends"]),
    ...(late.knew ? [] : ["a holder that slept too long knows at once"]),
    ...(late.refused ? [] : ["a late write is refused"]),
    ...(late.undisturbed ? [] : ["a sleeper that wakes up does not disturb the new holder"]),
  ];
  console.log(broken.length === 0 ? "\nEverything held." : `\nDID NOT HOLD: ${broken.join("; ")}.`);
  return broken.length === 0;
}

async function watch(crew: Crew, locked: boolean): Promise<Count> {
  const progress = new Progress(WORKERS * crew.run.sections);
  const seen = await count(crew, locked, (raised, value) => {
    progress.step(raised, `raised ${raised} times, the counter says ${value}`);
  });
  const { raised, lost } = seen;
  progress.end(`raised ${raised} times, the counter says ${raised - lost}: ${updates(lost)} lost.`);
  if (!locked && lost === 0) say("By luck: nothing kept them apart. Try again with more --sections.");
  return seen;
}

function report(unlocked: Count, locked: Count, takeover: number, late: Late): void {
  table([
    ["", "no lock", "Holdfast"],
    ["updates lost", `${unlocked.lost} of ${unlocked.raised}`, `${locked.lost} of ${locked.raised}`],
    ["sections per second", unlocked.rate.toFixed(0), locked.rate.toFixed(0)],
    ["median wait", "", `${locked.medianWait.toFixed(1)} ms`],
    ["longest wait", "", `${locked.longestWait.toFixed(1)} ms`],
    ["fences rising", "", yes(locked.rising)],
    ["taken over after a kill", "", `${(takeover / 1000).toFixed(2)} s`],
    ["late write refused", "", yes(late.refused)],
  ]);
}

function updates(lost: number): string {
  return lost === 0 ? "no update was" : lost === 1 ? "1 update was" : `${lost} updates were`;
}

function yes(held: boolean): string {
  return held ? "yes" : "NO";
}
